package evaluate

import "github.com/rollout-ladder/ladder/internal/confine"

// Workers are the workers of this process.
var Workers = &confine.Pool{}
