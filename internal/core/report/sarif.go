package report

import (
	"io"
	"net/url"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
)

// The parts of SARIF 2.1.0 that are written. Source: OASIS, Static Analysis
// Results Interchange Format, version 2.1.0.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool                `json:"tool"`
		Invocations []sarifInvocation        `json:"invocations"`
		BaseIDs     map[string]sarifArtifact `json:"originalUriBaseIds"`
		ColumnKind  string                   `json:"columnKind"`
		Results     []sarifResult            `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string             `json:"id"`
		ShortDescription sarifText          `json:"shortDescription"`
		Help             sarifHelp          `json:"help"`
		HelpURI          string             `json:"helpUri"`
		Default          sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifHelp struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    *int               `json:"ruleIndex,omitempty"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations,omitempty"`
		Related      []sarifLocation    `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Properties   sarifProperties    `json:"properties"`
	}
	sarifLocation struct {
		ID       *int           `json:"id,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifText     `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI         string     `json:"uri,omitempty"`
		BaseID      string     `json:"uriBaseId,omitempty"`
		Description *sarifText `json:"description,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string         `json:"kind"`
		Justification string         `json:"justification"`
		Location      *sarifLocation `json:"location,omitempty"`
	}
	sarifProperties struct {
		Environments []string `json:"environments"`
		Component    string   `json:"component,omitempty"`
		Provider     string   `json:"provider,omitempty"`
		Basis        string   `json:"basis,omitempty"`
		Fix          string   `json:"fix,omitempty"`
	}
)

const (
	// rulePages is where the documentation of rules is read.
	rulePages  = "https://github.com/rollout-ladder/ladder/blob/main/docs/rules/"
	homePage   = "https://github.com/rollout-ladder/ladder"
	sarifBase  = "%SRCROOT%"
	sarifPrint = "ladderFinding/v1"
)

// SARIF writes what lint found as SARIF 2.1.0. Paths are relative to the top of
// the repository; what is suppressed is there, and says why.
func SARIF(w io.Writer, l Lint) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "Ladder", Version: l.Version, InformationURI: homePage, Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{Successful: true}},
		BaseIDs:     map[string]sarifArtifact{sarifBase: {Description: &sarifText{"The top of the repository."}}},
		ColumnKind:  "unicodeCodePoints",
		Results:     []sarifResult{},
	}
	index := map[string]int{}
	for i, r := range l.Rules {
		index[r.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: r.ID, ShortDescription: sarifText{r.Summary + "."}, Help: sarifHelp{Text: r.Doc, Markdown: RuleDocument(r)},
			HelpURI: rulePages + r.ID + ".md", Default: sarifConfiguration{level(r.Severity)},
		})
	}
	for _, u := range l.Unrendered {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{
			Level: "warning", Message: sarifText{Plain(u.Component + " is not rendered: " + u.Reason)},
			Locations: l.locations(finding.Position{File: u.File, Line: u.Line}, finding.Resource{}),
		})
	}
	for _, f := range merged(l.Findings) {
		run.Results = append(run.Results, l.result(f, index))
	}
	for _, s := range l.Suppressed {
		r := l.result(shared{Finding: s.Finding, environments: []string{s.Finding.Environment}}, index)
		kind := "inSource"
		if s.By.File == "" {
			kind = "external"
		}
		r.Suppressions = []sarifSuppression{{Kind: kind, Justification: s.By.Reason}}
		if at := l.locations(s.By.Position, finding.Resource{}); len(at) > 0 {
			r.Suppressions[0].Location = &at[0]
		}
		run.Results = append(run.Results, r)
	}
	return JSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func level(s finding.Severity) string {
	switch s {
	case finding.Error:
		return "error"
	case finding.Warning:
		return "warning"
	default:
		return "note"
	}
}

func (l Lint) result(f shared, index map[string]int) sarifResult {
	environments := slices.Clone(f.environments)
	r := sarifResult{
		RuleID: f.Rule, Level: level(f.Severity), Message: sarifText{Plain(f.Message)},
		Locations:    l.locations(f.Position, f.Resource),
		Fingerprints: map[string]string{sarifPrint: lint.Fingerprint(f.Finding)},
		Properties: sarifProperties{
			Environments: environments, Component: f.Component, Provider: f.Provider, Basis: string(f.Basis), Fix: f.Fix.Summary,
		},
	}
	if i, ok := index[f.Rule]; ok {
		r.RuleIndex = &i
	}
	for _, e := range grounds(f.Finding) {
		for _, at := range l.locations(finding.Position{File: e.File, Line: e.Line}, finding.Resource{}) {
			id := len(r.Related) + 1
			at.ID, at.Message = &id, &sarifText{Plain(e.Text)}
			r.Related = append(r.Related, at)
		}
	}
	return r
}

// locations is the location of a finding; none where no file is known.
func (l Lint) locations(at finding.Position, of finding.Resource) []sarifLocation {
	if at.File == "" {
		return nil
	}
	location := sarifLocation{Physical: &sarifPhysical{
		Artifact: sarifArtifact{URI: (&url.URL{Path: l.inRepository(at.File)}).String(), BaseID: sarifBase},
	}}
	if at.Line > 0 {
		location.Physical.Region = &sarifRegion{at.Line}
	}
	if of.Kind != "" {
		location.Logical = []sarifLogical{{FullyQualifiedName: of.String(), Kind: "resource"}}
	}
	return []sarifLocation{location}
}
