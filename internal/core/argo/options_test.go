package argo

import "testing"

// TestIgnored: which options Argo CD passes over without a word, and what would be right.
func TestIgnored(t *testing.T) {
	for text, want := range map[string][3]string{ // what is right in the list and the two annotations
		"CreateNamespace=true":                 {"", "move CreateNamespace=true there", "move CreateNamespace=true there"},
		"CreateNamespace=false":                {"", "", ""},
		"CreateNamespace=False":                {"", "", ""},
		"CreateNamespace":                      {"write CreateNamespace=true", "move CreateNamespace=true there", "move CreateNamespace=true there"},
		"CreateNamespaces=true":                {"write CreateNamespace=true", "move CreateNamespace=true there", "move CreateNamespace=true there"},
		"Replace=True":                         {"write Replace=true", "write Replace=true", "move Replace=true there"},
		"replace=true":                         {"write Replace=true", "write Replace=true", "move Replace=true there"},
		"Replace=yes":                          {"write Replace=true", "write Replace=true", "write Replace=true"},
		" Replace=true":                        {"write Replace=true", "", "move Replace=true there"},
		"Replace = true":                       {"write Replace=true", "write Replace=true", "move Replace=true there"},
		"Validate=true":                        {"", "", ""},
		"Validate=False":                       {"write Validate=false", "write Validate=false", "move Validate=false there"},
		"ServerSideApply=false":                {"", "", "move ServerSideApply=false there"},
		"Prune=confirm":                        {"", "", "move Prune=confirm there"},
		"Prune=true":                           {"", "", ""},
		"prune=true":                           {"write prune: true below automated", "", ""},
		"Force=true":                           {"move Force=true there", "", "move Force=true there"},
		"PrunePropagationPolicy=Background":    {"write PrunePropagationPolicy=background", "move PrunePropagationPolicy=background there", "move PrunePropagationPolicy=background there"},
		"IncludeMutationWebhook=true":          {"move IncludeMutationWebhook=true there", "move IncludeMutationWebhook=true there", ""},
		"IgnoreExtraneous":                     {"move IgnoreExtraneous there", "move IgnoreExtraneous there", ""},
		"IgnoreExtraneous=true":                {"move IgnoreExtraneous there", "move IgnoreExtraneous there", "write IgnoreExtraneous"},
		"IgnoreExtraneous=false":               {"", "", ""},
		"PruneLast=true,Replace=true":          {"write each option as an item of its own", "", ""},
		"SomethingElse=true":                   {"correct its name, or take it out", "correct its name, or take it out", "correct its name, or take it out"},
		"CreateNamespace={{createNamespace}}":  {"", "", ""},
		"${OPTION}":                            {"", "", ""},
		"DisableClientSideApplyMigration=true": {"correct its name, or take it out", "correct its name, or take it out", "correct its name, or take it out"},
		"":                                     {"", "", ""},
	} {
		for i, at := range []OptionPlace{SyncList, SyncAnnotation, CompareAnnotation} {
			if at != SyncList && text == "PruneLast=true,Replace=true" {
				continue // annotations are cut at commas
			}
			why, right := Ignored(text, at)
			if right != want[i] || (why == "") != (right == "") {
				t.Errorf("%q at %d: %q because %q, want %q", text, at, right, why, want[i])
			}
		}
	}
}
