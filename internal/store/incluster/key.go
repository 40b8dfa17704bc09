package incluster

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// Namespace is where the state of every rollout is.
const Namespace = "ladder-system"

// The labels of everything that is kept. The values of labelRollout and
// labelGeneration are those of one rollout.
const (
	labelManaged    = "app.kubernetes.io/managed-by"
	labelPart       = "ladder.rollout-ladder.dev/part"
	labelRollout    = "ladder.rollout-ladder.dev/rollout"
	labelGeneration = "ladder.rollout-ladder.dev/generation"
)

// The parts that objects are.
const (
	partHead     = "head"
	partSnapshot = "snapshot"
	partJournal  = "journal"
	partRequests = "requests"
	partHistory  = "history"
)

// Key names a rollout: a platform in an environment. A cluster has at most one
// run of each at a time.
type Key struct {
	Platform    string `json:"platform"`
	Environment string `json:"environment"`
}

// String is the key for people.
func (k Key) String() string { return k.Platform + "/" + k.Environment }

// longestName keeps names, with what is added to them, valid as label values,
// which are at most 63 bytes long.
const longestName = 50

var unfit = lazyregexp.New(`[^a-z0-9-]+`)

// Name is the key as a part of the names of objects: readable where the key is
// made of DNS labels, distinct in any case.
func (k Key) Name() string {
	plain := k.Platform + "-" + k.Environment
	fit := strings.Trim(unfit.ReplaceAllString(strings.ToLower(plain), "-"), "-")
	// "a-b" in "c" and "a" in "b-c" look alike.
	if fit == plain && len(fit) <= longestName && !strings.Contains(k.Environment, "-") {
		return fit
	}
	sum := sha256.Sum256([]byte(k.Platform + "\x00" + k.Environment))
	return strings.Trim("p-"+fit[:min(len(fit), longestName-11)], "-") + "-" + hex.EncodeToString(sum[:4])
}

// base is the name of the head and the lease.
func (k Key) base() string { return "ladder-rollout-" + k.Name() }

// labels are those of a part of a rollout.
func (k Key) labels(part string) map[string]string {
	return map[string]string{labelManaged: "ladder", labelPart: part, labelRollout: k.Name()}
}
