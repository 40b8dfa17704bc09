package lintcmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// baseline is the file of --baseline: findings that are known. Only fingerprints
// count; the rest is for those who read it.
type baseline struct {
	FormatVersion string         `json:"formatVersion"`
	Findings      []knownFinding `json:"findings"`
}

type knownFinding struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"`
	Environment string `json:"environment"`
	Component   string `json:"component"`
	Provider    string `json:"provider"`
	Resource    string `json:"resource"`
	File        string `json:"file"`
}

// readBaseline returns how often each fingerprint is known; nil without a
// baseline, or when it is to be written.
func readBaseline(o *Options) (map[string]int, error) {
	if o.Baseline == "" || o.WriteBaseline {
		return nil, nil
	}
	info, err := os.Stat(o.Baseline)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.With(exit.Usage, fmt.Errorf("there is no baseline %s; --write-baseline makes it", o.Baseline))
	}
	if err == nil && info.Size() > repofs.MaxFileSize {
		err = fmt.Errorf("it is larger than %d MiB", repofs.MaxFileSize>>20)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(o.Baseline)
	}
	var b baseline
	if err == nil {
		err = json.Unmarshal(content, &b)
	}
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("read baseline %s: %w", o.Baseline, err))
	}
	if b.FormatVersion != report.FormatVersion {
		return nil, exit.With(exit.Usage, fmt.Errorf("baseline %s has format version %q, not %q", o.Baseline, b.FormatVersion, report.FormatVersion))
	}
	known := map[string]int{}
	for _, f := range b.Findings {
		known[f.Fingerprint]++
	}
	return known, nil
}

// takeOff leaves the findings that a baseline does not have.
func (j *judgement) takeOff(known map[string]int) {
	j.findings, j.known = lint.SinceBaseline(j.findings, known)
}

// writeBaseline writes findings down as known.
func writeBaseline(streams *stream.Streams, o *Options, findings []finding.Finding) error {
	b := baseline{FormatVersion: report.FormatVersion, Findings: []knownFinding{}}
	for _, f := range findings {
		k := knownFinding{
			Fingerprint: lint.Fingerprint(f), Rule: f.Rule, Environment: f.Environment, Component: f.Component,
			Provider: f.Provider, File: f.Position.File,
		}
		if f.Resource.Kind != "" {
			k.Resource = f.Resource.String()
		}
		b.Findings = append(b.Findings, k)
	}
	slices.SortStableFunc(b.Findings, func(x, y knownFinding) int {
		return cmp.Or(strings.Compare(x.Rule, y.Rule), strings.Compare(x.Environment, y.Environment),
			strings.Compare(x.Component, y.Component), strings.Compare(x.Fingerprint, y.Fingerprint), strings.Compare(x.File, y.File))
	})
	var text bytes.Buffer
	if err := report.JSON(&text, b); err != nil {
		return err
	}
	if err := streams.WriteResult(o.Baseline, text.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(streams.Err, "%s has %d findings\n", o.Baseline, len(b.Findings))
	return nil
}
