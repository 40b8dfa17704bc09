package finding

import (
	"regexp"
	"slices"
)

// userinfo is what stands between the scheme and the host of an address.
var userinfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s"'<>@]+@`)

// Redact takes the credentials out of the addresses in a text: what is read from
// a repository may hold them, what is shown may not.
func Redact(text string) string { return userinfo.ReplaceAllString(text, "${1}***@") }

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
