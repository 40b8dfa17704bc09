package finding

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/address"
)

// Redact takes the credentials out of the addresses in a text: what is read from
// a repository may hold them, what is shown may not.
func Redact(text string) string { return address.Redact(text) }

// Redacted is the finding without credentials in its texts. The patch is left as
// it is: package patch makes none that shows any.
func (f Finding) Redacted() Finding {
	f.Message, f.Fix.Summary = Redact(f.Message), Redact(f.Fix.Summary)
	f.Evidence = slices.Clone(f.Evidence)
	for i := range f.Evidence {
		f.Evidence[i].Text = Redact(f.Evidence[i].Text)
	}
	return f
}
