package history

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// MaxReport is the size of the greatest report that is read, in bytes,
// uncompressed.
const MaxReport = 64 << 20

// Entry is one rollout or rehearsal that is over.
type Entry struct {
	// ID is the start, the environment and a digest of the report.
	ID string
	// Where it was read from: a file, or a ConfigMap of the cluster.
	Where  string
	Report report.Rollout
}

// Problem is something in a history that could not be read.
type Problem struct {
	Where  string `json:"where"`
	Reason string `json:"reason"`
}

// Rehearsal reports whether the report is one of a rehearsal.
func (e Entry) Rehearsal() bool {
	return e.Report.PlaneReadySeconds > 0 || e.Report.Speed > 1
}

// Kind says what the entry is: rollout or rehearsal.
func (e Entry) Kind() string {
	if e.Rehearsal() {
		return "rehearsal"
	}
	return "rollout"
}

// New is the entry of a report.
func New(where string, r report.Rollout) (Entry, error) {
	r = cleaned(r)
	text, err := json.Marshal(r)
	if err != nil {
		return Entry{}, fmt.Errorf("read the report of %s: %w", where, err)
	}
	sum := sha256.Sum256(text)
	environment := strings.Trim(unfit.ReplaceAllString(strings.ToLower(r.Environment), "-"), "-.")
	id := time.Time(r.Started).UTC().Format("20060102T150405Z") + "-" + cmp.Or(environment[:min(len(environment), 40)], "none") + "-" + hex.EncodeToString(sum[:4])
	return Entry{ID: id, Where: where, Report: r}, nil
}

var unfit = lazyregexp.New(`[^a-z0-9.-]+`)

// Parse reads a report, compressed by gzip or not.
func Parse(where string, text []byte) (Entry, error) {
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		unpacked, err := unpack(text)
		if err != nil {
			return Entry{}, fmt.Errorf("read the report of %s: %w", where, err)
		}
		text = unpacked
	}
	var r report.Rollout
	if err := json.Unmarshal(text, &r); err != nil {
		return Entry{}, fmt.Errorf("%s is no report of a rollout: %w", where, err)
	}
	switch {
	case r.FormatVersion == "" || r.Result == "" || r.Components == nil:
		return Entry{}, fmt.Errorf("%s is no report of a rollout", where)
	case r.FormatVersion != report.FormatVersion:
		return Entry{}, fmt.Errorf("%s has format version %q; this ladder reads %q", where, r.FormatVersion, report.FormatVersion)
	case time.Time(r.Started).IsZero():
		return Entry{}, fmt.Errorf("%s does not say when the rollout started", where)
	}
	return New(where, r)
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, MaxReport+1))
	if err == nil && len(text) > MaxReport {
		err = fmt.Errorf("it is larger than %d MiB", MaxReport>>20)
	}
	return text, errors.Join(err, z.Close())
}

// cleaned is a report as it is kept: without credentials in its texts, and
// without the path of a kubeconfig.
func cleaned(r report.Rollout) report.Rollout {
	r.Kubeconfig = ""
	r.Components, r.Transitions = slices.Clone(r.Components), slices.Clone(r.Transitions)
	r.Unrendered, r.Against = slices.Clone(r.Unrendered), slices.Clone(r.Against)
	for i := range r.Components {
		c := &r.Components[i]
		c.Message, c.BlockedBy = finding.Redact(c.Message), slices.Clone(c.BlockedBy)
		for j := range c.BlockedBy {
			c.BlockedBy[j].Reason = finding.Redact(c.BlockedBy[j].Reason)
		}
	}
	r.Approvals = slices.Clone(r.Approvals)
	for i := range r.Approvals {
		r.Approvals[i].Reason = finding.Redact(r.Approvals[i].Reason)
	}
	for i := range r.Transitions {
		r.Transitions[i].Reason = finding.Redact(r.Transitions[i].Reason)
	}
	for i := range r.Unrendered {
		u := &r.Unrendered[i]
		u.Source, u.Reason = finding.Redact(u.Source), finding.Redact(u.Reason)
	}
	r.Errors, r.Untested = slices.Clone(r.Errors), slices.Clone(r.Untested)
	for _, found := range [][]finding.Finding{r.Errors, r.Untested} {
		for i, f := range found {
			found[i] = f.Redacted()
		}
	}
	for i := range r.Against {
		e := &r.Against[i]
		e.Reason, e.Evidence = finding.Redact(e.Reason), slices.Clone(e.Evidence)
		for j := range e.Evidence {
			e.Evidence[j].Text = finding.Redact(e.Evidence[j].Text)
		}
	}
	return r
}

// Merge joins histories: each entry once, the newest first.
func Merge(all ...[]Entry) []Entry {
	out := slices.Concat(all...)
	slices.SortStableFunc(out, func(a, b Entry) int { return -strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b Entry) bool { return a.ID == b.ID })
}

// ErrNone says that a history has no entry that fits.
var ErrNone = errors.New("there is no such entry")

// latest is the newest entry.
const latest = "latest"

// Find finds the entry that a name means: latest, latest~2 for the one two before
// it, or the beginning of an identifier. The entries are the newest first.
func Find(entries []Entry, name string) (Entry, error) {
	if rest, ok := strings.CutPrefix(name, latest); ok {
		back := 0
		if rest != "" {
			if _, err := fmt.Sscanf(rest, "~%d", &back); err != nil || fmt.Sprintf("~%d", back) != rest || back < 0 {
				return Entry{}, fmt.Errorf("%w: %q (write latest or latest~1)", ErrNone, name)
			}
		}
		if back >= len(entries) {
			return Entry{}, fmt.Errorf("%w: the history has %d", ErrNone, len(entries))
		}
		return entries[back], nil
	}
	var found []Entry
	for _, e := range entries {
		if e.ID == name {
			return e, nil
		}
		if strings.HasPrefix(e.ID, name) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Entry{}, fmt.Errorf("%w: %q", ErrNone, name)
	default:
		return Entry{}, fmt.Errorf("%w: %q is the beginning of %d entries", ErrNone, name, len(found))
	}
}
