package explain

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// explainRule prints the documentation of a rule. done is false where the
// subject is none.
func explainRule(streams *stream.Streams, o *Options) (done bool, err error) {
	for _, r := range lint.All() {
		if r.ID != o.Subject {
			continue
		}
		if o.Format == "json" {
			return true, writeRules(streams, o, []lint.Rule{r})
		}
		return true, streams.WriteResult(o.Output, []byte(report.RuleDocument(r)))
	}
	return false, nil
}

// orRule adds to the error of a platform that cannot be read which rule the subject may
// mean: rules need no platform.
func orRule(err error, subject string) error {
	meant := yamldoc.Meant(subject, lint.IDs(lint.All()))
	if exit.Of(err) != exit.Usage || meant == "" {
		return err
	}
	return fmt.Errorf("%w\nOr a rule: %s", err, meant)
}

// listRules prints every rule.
func listRules(streams *stream.Streams, o *Options) error {
	rules := lint.All()
	if o.Format == "json" {
		return writeRules(streams, o, rules)
	}
	return streams.WriteFormat(o.Format, o.Output, []byte(report.RulesText(rules)))
}

func writeRules(streams *stream.Streams, o *Options, rules []lint.Rule) error {
	var b bytes.Buffer
	if err := report.JSON(&b, report.RulesDocument(rules)); err != nil {
		return err
	}
	return streams.WriteResult(o.Output, b.Bytes())
}

// completeSubject completes the names of components and rules.
func completeSubject(f *flags.Source) cobra.CompletionFunc {
	components := source.CompleteComponent(f)
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, directive := components(cmd, args, typed)
		if len(args) > 0 {
			return names, directive
		}
		for _, r := range lint.All() {
			if strings.HasPrefix(r.ID, typed) {
				names = append(names, r.ID+"\t"+r.Summary)
			}
		}
		return names, directive
	}
}
