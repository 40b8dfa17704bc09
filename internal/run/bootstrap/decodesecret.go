package bootstrap

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// value reads a value. A secret one is never written in the configuration, and
// what is written there in its place is never repeated.
func (d *decoder) value(f *yamldoc.Fields, key string, secret bool) Value {
	v := Value{Field: yamldoc.Join(f.Path, key)}
	e, ok := f.Entry(key)
	if !ok {
		return v
	}
	v.Position = e.Position
	if e.Value.Kind == yamldoc.Scalar {
		if secret {
			f.Wrong(key, "write {env: NAME} or {file: PATH}", "%s is written in the configuration, where no secret belongs", v.Field)
			return v
		}
		v.Text = e.Value.Text
		return v
	}
	m := f.Map(key)
	if m == nil {
		return v
	}
	v.Env, v.File = m.Text("env"), m.Text("file")
	if (v.Env == "") == (v.File == "") {
		f.Wrong(key, "", "%s needs either env, the name of an environment variable, or file, a path", v.Field)
	}
	if strings.ContainsAny(v.Env, "= \t\n$") {
		f.Wrong(key, "", "%s.env is not the name of an environment variable", v.Field)
		v.Env = ""
	}
	d.unknown(m)
	return v
}

// repositoryKeys are the keys of a repository Secret that hold values, and
// whether they are secrets. Source: Argo CD, "Declarative Setup", Repositories
// and Repository Credentials.
func repositoryKeys() []struct {
	key    string
	secret bool
} {
	return []struct {
		key    string
		secret bool
	}{
		{"bearerToken", true},
		{"gcpServiceAccountKey", true},
		{"githubAppEnterpriseBaseUrl", false},
		{"githubAppID", false},
		{"githubAppInstallationID", false},
		{"githubAppPrivateKey", true},
		{"password", true},
		{"sshPrivateKey", true},
		{"tlsClientCertData", false},
		{"tlsClientCertKey", true},
		{"username", false},
	}
}

func (d *decoder) repositories(c *Config, f *yamldoc.Fields) {
	for _, m := range f.Maps("repositories") {
		r := Repository{
			Name: d.name(m), Type: m.Text("type"), Project: m.Text("project"),
			Template: m.Bool("template", false), Insecure: m.Bool("insecure", false), EnableOCI: m.Bool("enableOCI", false),
			Position: m.Value.Position,
		}
		r.URL = d.need(m, "url", "")
		if finding.Redact(r.URL) != r.URL {
			m.Wrong("url", "take username and password out, and name them below as {env: NAME}", "%s.url holds credentials", m.Path)
		}
		if r.Type == "" {
			r.Type = "git"
		}
		if !slices.Contains([]string{"git", "helm", "oci"}, r.Type) {
			m.Wrong("type", "use git, helm or oci", "%s.type %q is no type of repository", m.Path, r.Type)
		}
		for _, k := range repositoryKeys() {
			if v := d.value(m, k.key, k.secret); v.Set() {
				r.Fields = append(r.Fields, Field{k.key, v})
			}
		}
		d.unknown(m)
		c.Repositories = append(c.Repositories, r)
	}
}

func (d *decoder) name(m *yamldoc.Fields) string {
	name := d.need(m, "name", "the name of the Secret")
	if name != "" && (!subdomain.MatchString(name) || len(name) > 253) {
		m.Wrong("name", "use lower-case letters, digits, '-' and '.'", "%s.name %q is not the name of an object", m.Path, name)
	}
	return name
}

func (d *decoder) namespace(m *yamldoc.Fields, key, text string) {
	if text != "" && !label.MatchString(text) {
		m.Wrong(key, "use lower-case letters, digits and '-'", "%s.%s: %q is not the name of a namespace", m.Path, key, text)
	}
}

func (d *decoder) pullSecrets(c *Config, f *yamldoc.Fields) {
	for _, m := range f.Maps("pullSecrets") {
		p := PullSecret{Name: d.name(m), Namespaces: m.Strings("namespaces"), Config: d.value(m, "config", true), Position: m.Value.Position}
		for _, ns := range p.Namespaces {
			d.namespace(m, "namespaces", ns)
		}
		if len(p.Namespaces) == 0 {
			d.lacks(m, "namespaces", "say where images are pulled: namespaces: [default]")
		}
		for _, r := range m.Maps("registries") {
			registry := Registry{Server: d.need(r, "server", ""), Username: d.value(r, "username", false), Password: d.value(r, "password", true)}
			if !registry.Username.Set() && !r.Has("username") {
				d.lacks(r, "username", "")
			}
			if !registry.Password.Set() && !r.Has("password") {
				d.lacks(r, "password", "write password: {env: NAME} or {file: PATH}")
			}
			d.unknown(r)
			p.Registries = append(p.Registries, registry)
		}
		if m.Has("config") == (len(p.Registries) > 0) {
			d.problems.Add(m.Path, m.Value.Position, "", "%s needs either registries or config", m.Path)
		}
		d.unknown(m)
		c.PullSecrets = append(c.PullSecrets, p)
	}
}

func (d *decoder) secrets(c *Config, f *yamldoc.Fields) {
	for _, m := range f.Maps("secrets") {
		s := Secret{Name: d.name(m), Namespace: d.need(m, "namespace", ""), Type: m.Text("type"), Labels: m.TextMap("labels"), Position: m.Value.Position}
		d.namespace(m, "namespace", s.Namespace)
		data := m.Map("data")
		if data == nil || len(data.Value.Entries) == 0 {
			d.lacks(m, "data", "write data: {key: {env: NAME}}")
		} else {
			for _, e := range data.Value.Entries {
				s.Data = append(s.Data, Field{e.Key, d.value(data, e.Key, true)})
			}
			slices.SortFunc(s.Data, func(a, b Field) int { return strings.Compare(a.Key, b.Key) })
		}
		d.unknown(m)
		c.Secrets = append(c.Secrets, s)
	}
}
