package descriptor

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// CheckKinds lists the kinds of smoke check.
func CheckKinds() []model.CheckKind {
	return []model.CheckKind{
		model.CheckCondition, model.CheckSecret, model.CheckCertificate, model.CheckJob,
		model.CheckEndpoint, model.CheckHTTP, model.CheckTCP, model.CheckCEL,
	}
}

// smoke reads a list of checks, or a map that may ask for the Helm tests of the chart.
func (d *decoder) smoke(f *yamldoc.Fields) []model.Check {
	key := "smoke"
	if e, ok := f.Entry(key); ok && e.Value.Kind == yamldoc.Map {
		f, key = f.Map(key), "checks"
		d.c.HelmTest = f.Bool("helmTest", false)
		defer d.unknown(f)
	}
	var checks []model.Check
	for _, m := range f.Maps(key) {
		if c, ok := d.check(m); ok {
			checks = append(checks, c)
		}
	}
	return checks
}

// check reads one entry of smoke: a map with one key, the kind.
func (d *decoder) check(entry *yamldoc.Fields) (model.Check, bool) {
	kinds := make([]string, 0, len(CheckKinds()))
	for _, k := range CheckKinds() {
		kinds = append(kinds, string(k))
	}
	if len(entry.Value.Entries) != 1 {
		d.problems.Add(entry.Path, entry.Value.Position, "write one of "+strings.Join(kinds, ", "), "%s needs exactly one kind of check, not %d keys", entry.Path, len(entry.Value.Entries))
		return model.Check{}, false
	}
	key := entry.Value.Entries[0].Key
	if !slices.Contains(kinds, key) {
		hint := "use one of " + strings.Join(kinds, ", ")
		if near := yamldoc.Nearest(key, kinds); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		entry.Wrong(key, hint, "%s: check %q is not known", entry.Path, key)
		return model.Check{}, false
	}
	m := entry.Map(key)
	if m == nil {
		if entry.Value.Entries[0].Value.Kind == yamldoc.Null {
			entry.Wrong(key, "", "%s.%s says nothing to check", entry.Path, key)
		}
		return model.Check{}, false
	}
	before := len(d.problems.List)
	c := model.Check{Kind: model.CheckKind(key), Position: entry.Value.Entries[0].Position, Namespace: d.c.Namespace}
	if e, ok := m.Entry("namespace"); ok && e.Value.Kind == yamldoc.Scalar {
		c.Namespace = e.Value.Text
	}
	c.Timeout = m.Duration("timeout")
	d.checkFields(&c, m)
	for _, e := range m.Unknown() {
		hint := ""
		if near := yamldoc.Nearest(e.Key, m.Known()); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		m.Wrong(e.Key, hint, "%s.%s has no field %q", entry.Path, key, e.Key)
	}
	return c, len(d.problems.List) == before
}

func (d *decoder) checkFields(c *model.Check, m *yamldoc.Fields) {
	need := func(key string) string {
		text := m.Text(key)
		if text == "" && !m.Has(key) {
			d.problems.Add(yamldoc.Join(m.Path, key), c.Position, "", "%s has no %s", m.Path, key)
		}
		return text
	}
	switch c.Kind {
	case model.CheckCondition:
		c.Group, c.ObjectKind, c.Name = group(need("apiVersion")), need("kind"), need("name")
		c.Conditions = m.TextMap("conditions")
		if len(c.Conditions) == 0 {
			c.Conditions = map[string]string{"Ready": "True"}
		}
	case model.CheckSecret:
		c.ObjectKind, c.Name, c.Keys = "Secret", need("name"), m.Strings("keys")
	case model.CheckCertificate:
		c.ObjectKind, c.Name = "Secret", need("secret")
		c.IssuedBy, c.Subject = m.Strings("issuedBy"), m.Text("subject")
	case model.CheckJob:
		c.Group, c.ObjectKind, c.Name = "batch", "Job", need("name")
	case model.CheckEndpoint:
		c.ObjectKind, c.Name = "Service", need("service")
	case model.CheckHTTP:
		c.URL, c.Status = need("url"), 200
		if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
			m.Wrong("url", "write http://host:port/path", "%s.url is not an HTTP address", m.Path)
		}
		if status, ok := m.Int("status"); ok {
			c.Status = status
			if status < 100 || status > 599 {
				m.Wrong("status", "", "%s.status %d is not an HTTP status", m.Path, status)
			}
		}
	case model.CheckTCP:
		c.Address = need("address")
		if host, port, ok := strings.Cut(c.Address, ":"); c.Address != "" && (!ok || host == "" || port == "") {
			m.Wrong("address", "write host:port", "%s.address %q has no port", m.Path, c.Address)
		}
	case model.CheckCEL:
		c.Group, c.ObjectKind, c.Expression = group(need("apiVersion")), need("kind"), need("expression")
		c.Name = m.Text("name")
	}
}

// group is the group of an apiVersion: "apps/v1" is apps, "v1" the core group.
func group(apiVersion string) string {
	g, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return g
}

func (d *decoder) health(f *yamldoc.Fields) []model.HealthCheck {
	var checks []model.HealthCheck
	for _, m := range f.Maps("health") {
		h := model.HealthCheck{
			Group: m.Text("group"), Kind: m.Text("kind"),
			CEL: m.Text("cel"), Lua: m.Text("lua"), Position: m.Value.Position,
		}
		if v := m.Text("apiVersion"); v != "" && h.Group == "" {
			h.Group = group(v)
		}
		d.unknown(m)
		switch {
		case h.Kind == "":
			d.problems.Add(m.Path, m.Value.Position, "", "%s has no kind", m.Path)
			continue
		case (h.CEL == "") == (h.Lua == ""):
			d.problems.Add(m.Path, m.Value.Position, "write one of the two", "%s needs either cel or lua", m.Path)
			continue
		}
		checks = append(checks, h)
	}
	return checks
}
