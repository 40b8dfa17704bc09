package argocd

import (
	"bytes"
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/clusters"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/installation"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// looked is what one file says to Argo CD.
type looked struct {
	own, settings, wave bool // what it mentions
	cluster             bool
	templated           bool   // it is a template of a chart, and not parsed
	unread              []byte // what is not parsed of a file with settings
	values              []*yamldoc.Value
	broken              *repofs.InputError // why it could not be parsed
	waits               bool               // for another tool, which fills in what is no YAML
	mistaken            bool               // it can be nothing but an object of Argo CD with a mistake
	twice               *repofs.InputError // a key that is written twice
}

// maxValues is how many values there may be in all files that say something to Argo CD:
// they stay in memory, a hundred bytes and more for each that may be two bytes of text. A
// platform of ten thousand Applications has a million. Tests lower it.
var maxValues = int64(2_000_000)

// largeFile is the size from which files are parsed one at a time, in bytes: meanwhile
// each takes a hundred times that.
const largeFile = 256 << 10

// lookInto looks into files side by side: most of a large repository says nothing
// to Argo CD, and reading it is most of the work.
func (r *Repository) lookInto(ctx context.Context, names []string) ([]looked, error) {
	all := make([]looked, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range names {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			all[i] = r.look(file)
			if r.counted.Load() > maxValues {
				return &repofs.InputError{Message: fmt.Sprintf("the files with objects of Argo CD hold more than %d values together", maxValues), Hint: "look for files that are not for Argo CD"}
			}
			return nil
		})
	}
	return all, group.Wait()
}

// look looks into one file for what is Argo CD's; it changes nothing but the number of
// values.
func (r *Repository) look(file string) (l looked) {
	data, err := r.tree.Read(file)
	if err != nil || ladderfile.IsSnapshot(data) || r.opts.Skip != nil && r.opts.Skip(data) {
		return l
	}
	l.own = !r.patches[file] && bytes.Contains(data, []byte("argoproj.io/")) && mentions.Match(data)
	l.settings = installation.Mentions(data) && !repofs.IsUnused(file)
	l.wave = misplacedWave.Match(data)
	l.cluster = !r.patches[file] && clusters.Mentioned.Match(data)
	if !l.own && !l.settings && !l.wave && !l.cluster {
		return l
	}
	if l.settings {
		l.unread = data
	}
	if l.templated = r.inTemplates(file); l.templated {
		if l.settings && len(data) <= largeFile {
			l.values, _ = yamldoc.Parse(file, data) // most templates are no YAML as they stand
		}
		return l
	}
	if len(data) > largeFile {
		r.large.Lock()
		defer r.large.Unlock()
	}
	if r.counted.Load() > maxValues {
		return looked{} // there are too many already
	}
	if l.values, err = yamldoc.Parse(file, data); err != nil {
		problem := repofs.InputErrors(err)
		if len(problem) == 0 {
			return looked{}
		}
		l.broken = &repofs.InputError{Position: problem[0].Position, Message: unparsed(data, problem[0].Message), Hint: problem[0].Hint}
		l.waits = awaitsFilling(file, data)
		l.mistaken = isMistaken(file, data)
		if l.values, err = yamldoc.ParseLast(file, data); err == nil {
			l.broken, l.twice = nil, problem[0]
		}
	}
	for _, v := range l.values {
		r.counted.Add(int64(v.Size()))
	}
	return l
}

// take keeps what was found in a file.
func (r *Repository) take(file string, l looked) {
	switch {
	case l.templated:
		if len(l.values) == 0 || !r.installation.Template(l.values) {
			r.installation.Unread(file, l.unread)
		}
		if l.own {
			r.templated = append(r.templated, file)
		}
		return
	case l.broken != nil:
		r.installation.Unread(file, l.unread)
		// A template of some other tool is no reason to read nothing, and a file that an
		// Application needs is refused when it is read.
		if l.own {
			f := notRead(l.broken.Position, "", "%s", l.broken.Message)
			f.Unread[0].Template = l.waits
			if l.mistaken && !r.isUnused(file) {
				f.Severity, f.Fix.Summary = finding.Error, l.broken.Hint
			}
			r.findings = append(r.findings, f)
			r.broken = append(r.broken, l.broken)
		}
		return
	}
	if l.own && l.twice != nil {
		f := newFinding(RuleInvalid, finding.Info, l.twice.Position, "", "%s: Argo CD takes the last", l.twice.Message)
		f.Fix.Summary = l.twice.Hint
		r.findings = append(r.findings, f)
	}
	if l.settings && !r.isUnused(file) {
		r.installation.Read(l.values)
	}
	documents := split(l.values)
	if l.wave {
		r.findMisplaced(documents)
	}
	if l.cluster && !r.isUnused(file) {
		for _, d := range documents {
			c, ok := clusters.FromObject(d.value)
			switch name := d.name(); {
			case !ok:
			case name != "" && !descriptor.IsName(name) && !hasPlaceholder(name):
				r.findings = append(r.findings, copiedCluster(d))
			default:
				r.clusters.secrets = append(r.clusters.secrets, c)
			}
		}
	}
	switch {
	case l.own && r.isCarried(file):
		r.partNotRead(finding.Position{File: file, Line: 1}, "", "%s is put into a ConfigMap or Secret: who takes what it has for Argo CD from there applies it", file)
	case l.own:
		r.add(file, documents)
	}
}

var (
	// groupLine and kindLine match what an object of Argo CD begins with, as it stands.
	groupLine = lazyregexp.New(`(?m)^apiVersion: *["']?argoproj\.io/v1alpha1["']?[ \t\r]*$`)
	kindLine  = lazyregexp.New(`(?m)^kind: *["']?(?:Application|ApplicationSet|AppProject)["']?[ \t\r]*$`)
	// evaluated matches what any tool may fill in, also those that placeholder does not know.
	evaluated = lazyregexp.New("[$%@#]\\w*[{(]|\\(\\(|\\[\\[|\\{\\{|<%|\\{%|@@|%%|\\$[A-Za-z]|\\b__|<[A-Za-z]")
)

// isMistaken reports whether a file that is no YAML is an object of Argo CD with a mistake: nothing in
// it looks as if another tool filled it in, so that whoever applies it is refused.
func isMistaken(file string, data []byte) bool {
	return !isDisabledName(file) && groupLine.Match(data) && kindLine.Match(data) && !evaluated.Match(data)
}
