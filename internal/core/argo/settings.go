package argo

import (
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Settings are those of the installation of Argo CD that bear on what is applied and
// in which order, as far as the repository has them: in argocd-cm and
// argocd-cmd-params-cm, in the values of the chart argo-cd, in the ArgoCD resource of
// the operator, in patches of these. What any file says counts: which of several
// installations an Application belongs to is not always told.
type Settings struct {
	// Known is set where the repository holds argocd-cm, or what makes it, at
	// Position. Where it is not, nothing follows from what is missing.
	Known    bool
	Position finding.Position
	// Whole is where the repository says what makes all of argocd-cm: the chart, the
	// ArgoCD resource, or Argo CD's own manifests. A ConfigMap alone may be a patch.
	Whole finding.Position
	// Started is where the repository says how the processes of Argo CD are started:
	// argocd-cmd-params-cm, or what makes it. Where it is the zero value, nothing
	// follows from what is missing of those settings.
	Started finding.Position
	// Health are the kinds with a health script of their own, sorted.
	Health []GroupKind
	// Waived are the kinds whose own health script says Healthy of every object, so that
	// nothing waits for one, sorted.
	Waived []GroupKind
	// Global are the names of the AppProjects that others inherit from, sorted.
	Global []string
	// ProgressiveSyncs has RollingSync order anything; NewGlobbing has a star of a Git
	// generator's files stop at a slash.
	ProgressiveSyncs, NewGlobbing Switch
	// Build are the options of kustomize build, one for each place that has some;
	// BuildUnread is a file that mentions them in a way that is not read.
	Build       []BuildOptions
	BuildUnread string
	// Versions are the versions of kustomize that sources may ask for, sorted.
	Versions []string
	// Namespaces are those that Argo CD is installed in, sorted; Watched are patterns of
	// others in which it takes Applications, and WatchedUnread is a file that mentions
	// those in a way that is not read.
	Namespaces, Watched []string
	WatchedUnread       string
	// Exclusions are what Argo CD does not see; where there are Inclusions, it sees
	// nothing else. They are one for each place that has some: of several, one may be
	// written over another. Source: argo-cd, util/settings, ResourcesFilter.
	Exclusions, Inclusions []Filters
	// Written are the settings of argocd-cm that bear on what a sync does, sorted by key
	// and position.
	Written []Written
	// SyncTimeout is how long a sync runs before Argo CD ends it.
	SyncTimeout SyncTimeout
	// Stray are settings in the one of the two ConfigMaps where nothing reads them,
	// sorted by position.
	Stray []Stray
}

// Switch is a setting that is on or off; off is the default.
type Switch struct {
	On bool
	// Position is where it is switched: on where On is set, else to what is not on, as
	// Text has it. It is the zero value where nothing switches it.
	Position finding.Position
	Text     string
	// Unread is a file that mentions it in a way that is not read; empty where none
	// does. Then it is not known to be off.
	Unread string
}

// SyncTimeout is how long a sync runs before Argo CD ends it. Of several that are written
// it is the longest: which of several installations an Application belongs to is not always
// told.
type SyncTimeout struct {
	// After is 0 where Argo CD ends none, which is the default.
	After time.Duration
	// Position is where it is written, the zero value where it is not.
	Position finding.Position
	// Unread is set where it is written in a way that is not read.
	Unread bool
}

// Ends reports after how long a sync is known to be ended.
func (t SyncTimeout) Ends() (after time.Duration, known bool) {
	return t.After, t.After > 0 && !t.Unread
}

// BuildOptions are what kustomize build is called with.
type BuildOptions struct {
	// Version is the version of kustomize that they are for, empty for the one that is
	// used where a source asks for none.
	Version  string
	Text     string
	Position finding.Position
}

// Quoted is the first word with quotes that are part of it. Argo CD splits the options at
// blanks and leaves quotes as they are, so that kustomize does not understand them and builds
// nothing. Source: argo-cd, util/kustomize, parseKustomizeBuildOptions.
func (b BuildOptions) Quoted() (word string, found bool) {
	for word := range strings.FieldsSeq(b.Text) {
		for _, quote := range []string{`"`, `'`} {
			if strings.HasPrefix(word, quote) || strings.Count(word, quote)%2 == 1 {
				return word, true
			}
		}
	}
	return "", false
}

// Filters are the exclusions or inclusions of one place.
type Filters struct {
	Filters  []Filter
	Position finding.Position
	// Default is set for the exclusions that Argo CD's manifests and its chart have
	// where nobody sets any; Position is then where they are installed from.
	Default bool
}

// Filter is one entry of them. An empty list stands for all; groups and clusters are
// patterns.
type Filter struct{ Groups, Kinds, Clusters []string }

// The settings that order something.
const (
	// ProgressiveSyncsKey switches RollingSync on, in argocd-cmd-params-cm.
	ProgressiveSyncsKey = "applicationsetcontroller.enable.progressive.syncs"
	// ApplicationHealthKey has the health of Applications assessed, in argocd-cm.
	ApplicationHealthKey = "resource.customizations.health.argoproj.io_Application"
)

// Stray is a setting that nothing reads where it is written.
type Stray struct {
	// Key is the setting, In the ConfigMap that has it, Home the one that it belongs to.
	Key, In, Home string
	Position      finding.Position
}

// IsCustomary reports whether a namespace is one that Argo CD, or Red Hat's operator of it,
// is installed in where nobody says otherwise.
func IsCustomary(namespace string) bool {
	return namespace == "argocd" || namespace == "openshift-gitops"
}

// BuildNeed is something that kustomize builds only when it is told to.
type BuildNeed struct {
	// Option is the option of kustomize build, empty where a Version of kustomize is
	// needed.
	Option, Version string
	// Reason reads on after the Application: "inflates the chart redis".
	Reason   string
	Position finding.Position
}

// The options that kustomizations need, as they are written.
const (
	EnableHelm   = "--enable-helm"
	Unrestricted = "--load-restrictor LoadRestrictionsNone"
)

// Refuses reports that Argo CD is known not to build what needs something: all of the
// settings are there, or those of kustomize, and none of them gives it.
func (s Settings) Refuses(n BuildNeed) bool {
	if s.BuildUnread != "" {
		return false
	}
	if n.Option == "" {
		if slices.Contains(s.Versions, n.Version) {
			return false
		}
		return s.Whole.File != "" || len(s.Versions) > 0
	}
	// The options of a version count as well: which of them Argo CD takes has changed.
	signs := []string{n.Option}
	if n.Option == Unrestricted {
		signs = []string{"LoadRestrictionsNone", "restrictor none", "restrictor=none"}
	}
	for _, b := range s.Build {
		for _, sign := range signs {
			if strings.Contains(b.Text, sign) {
				return false
			}
		}
	}
	return s.Whole.File != "" || len(s.Build) > 0
}

// Lacks reports that the repository has no options of kustomize where something needs one, and that
// what installs Argo CD, which is elsewhere, may give it.
func (s Settings) Lacks(n BuildNeed) bool {
	return n.Option != "" && s.BuildUnread == "" && s.Whole.File == "" && len(s.Build) == 0
}

// Assesses reports whether the settings have a health script for a kind.
func (s Settings) Assesses(group, kind string) bool {
	return holdsKind(s.Health, group, kind)
}

// Waives reports whether the settings have every object of a kind be Healthy.
func (s Settings) Waives(group, kind string) bool {
	return holdsKind(s.Waived, group, kind) && !s.Assesses(group, kind)
}

func holdsKind(all []GroupKind, group, kind string) bool {
	return slices.ContainsFunc(all, func(k GroupKind) bool {
		return (k.Group == group || k.Group == "*") && (k.Kind == kind || k.Kind == "*")
	})
}

// Unordered reports that RollingSync is known to order nothing: it is known how Argo CD
// is started, and nothing switches progressive syncs on.
func (s Settings) Unordered() bool {
	return s.Started.File != "" && !s.ProgressiveSyncs.On && s.ProgressiveSyncs.Unread == ""
}
