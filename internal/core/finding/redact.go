package finding

import "slices"

// Redacted is the finding without credentials in its texts, each of which is one
// line. The patch is left as
// it is: package patch makes none that shows any.
func (f Finding) Redacted() Finding {
	f.Message, f.Fix.Summary = Plain(Redact(f.Message)), Plain(Redact(f.Fix.Summary))
	f.Evidence = slices.Clone(f.Evidence)
	for i := range f.Evidence {
		f.Evidence[i].Text = Plain(Redact(f.Evidence[i].Text))
	}
	f.Unread = slices.Clone(f.Unread)
	for i := range f.Unread {
		f.Unread[i].Name, f.Unread[i].Reason = Plain(Redact(f.Unread[i].Name)), Plain(Redact(f.Unread[i].Reason))
	}
	f.Also = slices.Clone(f.Also)
	for i := range f.Also {
		f.Also[i] = f.Also[i].Redacted()
	}
	return f
}
