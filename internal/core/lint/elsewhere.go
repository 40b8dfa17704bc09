package lint

import (
	"embed"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Rules whose findings are made without looking at one Input alone.
const (
	RuleUnusedSuppression = "unused-suppression"
	RuleParity            = "environment-parity"
	RuleFileMissing       = "file-missing"
	RuleRenderFailed      = "render-failed"
	RuleTooLong           = "too-long-to-apply"
)

//go:embed docs/*.md
var docs embed.FS

// elsewhere lists the rules whose findings are not made by looking at one Input:
// they are found while the repository is read, rendered and inferred, or between
// environments.
func elsewhere() []Rule {
	return []Rule{
		documented("assumed", finding.Info, "Something is taken to be so that the repository does not say"),
		documented("disabled-but-required", finding.Error, "An enabled component requires one that is disabled"),
		documented("duplicate-name", finding.Error, "Two components of an environment have one name"),
		documented(RuleParity, finding.Warning, "An environment differs from the others in its order, edges or smokes"),
		documented(RuleFileMissing, finding.Error, "A file or folder that the repository names is not there"),
		documented("invalid-field", finding.Error, "A field has a value that cannot be understood"),
		documented("not-read", finding.Info, "A part of the repository was not read").withErrors(),
		documented("nothing-applied", finding.Warning, "A source applies nothing, or leaves manifests in subfolders out"),
		documented("parent-at-once", finding.Warning, "Objects beside Applications need one of these, and cannot wait for it without Argo CD"),
		documented("phase-not-numeric", finding.Error, "A phase is not a number from 0 to 999"),
		documented(RuleRenderFailed, finding.Warning, "A chart, kustomization or manifest cannot be rendered").withErrors(),
		documented("several-clusters", finding.Warning, "Components that are rolled out together go to several clusters"),
		documented("steps-against-plan", finding.Warning, "The plan has RollingSync steps the other way round"),
		documented("sync-option", finding.Warning, "A sync option has no effect, or another one without Argo CD"),
		documented(RuleTooLong, finding.Error, "An object is too long for the annotation of a client-side apply"),
		documented("unknown-field", finding.Warning, "A field is not known, most likely misspelt").withErrors(),
		documented("unknown-requirement", finding.Error, "A component requires something that nothing provides"),
		documented(RuleUnusedSuppression, finding.Warning, "A suppression has no reason or matches no finding"),
		documented("wave-heeded-by-nobody", finding.Warning, "Sync waves of Applications that kubectl applies order nothing"),
		documented("wave-not-a-string", finding.Error, "A sync wave is not written as a string"),
	}
}

// documented is a rule without a Run whose documentation is docs/ID.md.
func documented(id string, severity finding.Severity, summary string) Rule {
	text, err := docs.ReadFile("docs/" + id + ".md")
	if err != nil {
		// A test reads the documentation of every rule.
		text = nil
	}
	return Rule{ID: id, Summary: summary, Doc: string(text), Severity: severity}
}
