package evaluate

import "time"

func init() { setTime = 500 * time.Millisecond }
