package bootstrap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Read reads a configuration. What is wrong with it are repofs.InputErrors with
// file and line, joined.
func Read(file string) (*Config, error) {
	name := filepath.ToSlash(file)
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err == nil && info.Size() > repofs.MaxFileSize {
		err = fmt.Errorf("it is larger than %d MiB", repofs.MaxFileSize>>20)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, &repofs.InputError{Message: fmt.Sprintf("the configuration %s cannot be read: %v", name, err), Hint: "give --config the file that docs/bootstrap.md describes"}
	}
	c, err := Parse(name, data)
	if c != nil {
		c.File = file
	}
	return c, err
}

// Parse reads the text of a configuration; name is what messages call it.
func Parse(name string, data []byte) (*Config, error) {
	v, err := yamldoc.ParseOne(name, data)
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	c := &Config{File: name, Timeout: DefaultTimeout}
	if f := yamldoc.Read(v, "", &d.problems); f != nil {
		d.config(c, f)
	}
	var wrong []error
	for _, p := range d.problems.List {
		wrong = append(wrong, &repofs.InputError{Position: p.Position, Message: p.Message, Hint: p.Hint})
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return c, nil
}

type decoder struct{ problems yamldoc.Problems }

// unknown refuses the keys that nothing asked for.
func (d *decoder) unknown(f *yamldoc.Fields) {
	for _, e := range f.Unknown() {
		hint := ""
		if near := yamldoc.Nearest(e.Key, f.Known()); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		d.problems.Add(yamldoc.Join(f.Path, e.Key), e.Position, hint, "%s is not a field of the bootstrap configuration", yamldoc.Join(f.Path, e.Key))
	}
}

// need returns the text of a field that has to be there.
func (d *decoder) need(f *yamldoc.Fields, key, hint string) string {
	text := f.Text(key)
	if text == "" {
		d.lacks(f, key, hint)
	}
	return text
}

func (d *decoder) lacks(f *yamldoc.Fields, key, hint string) {
	what := f.Path
	if what == "" {
		what = "the configuration"
	}
	d.problems.Add(yamldoc.Join(f.Path, key), f.Value.Position, hint, "%s has no %s", what, key)
}

func (d *decoder) config(c *Config, f *yamldoc.Fields) {
	c.Platform, c.Environment = f.Text("platform"), f.Text("environment")
	if e, ok := f.Entry("envFile"); ok {
		c.EnvFile = Path{f.Text("envFile"), e.Position}
	}
	if t := f.Duration("timeout"); t > 0 {
		c.Timeout = t
	}
	d.cluster(&c.Cluster, f.Map("cluster"))
	if m := f.Map("preArgo"); m != nil {
		c.PreArgo.Skip = m.Bool("skip", false)
		d.unknown(m)
	}
	d.argoCD(c, f)
	d.repositories(c, f)
	d.pullSecrets(c, f)
	d.secrets(c, f)
	d.root(&c.Root, f.Map("root"))
	d.wait(&c.Wait, f.Map("wait"))
	d.portForward(&c.PortForward, f.Map("portForward"))
	d.unknown(f)
}

func (d *decoder) cluster(c *Cluster, f *yamldoc.Fields) {
	if f == nil {
		return
	}
	c.Kubeconfig, c.Context = f.Text("kubeconfig"), f.Text("context")
	if m := f.Map("create"); m != nil {
		made := &Create{Tool: d.need(m, "tool", "use k3d or kind"), Name: d.need(m, "name", ""), Config: m.Text("config"), Args: m.Strings("args"), Position: m.Value.Position}
		if made.Tool != "" && made.Tool != k3d && made.Tool != kind {
			m.Wrong("tool", "use k3d or kind", "%s.tool %q makes no clusters", m.Path, made.Tool)
		}
		if made.Name != "" && !label.MatchString(made.Name) {
			m.Wrong("name", "use lower-case letters, digits and '-'", "%s.name %q is not the name of a cluster", m.Path, made.Name)
		}
		d.unknown(m)
		c.Create = made
		if c.Context != "" || c.Kubeconfig != "" {
			m.Wrong("name", "leave context and kubeconfig out", "cluster.create names the context itself: %s", made.context())
		}
	}
	d.unknown(f)
}

// label is the name of a namespace. Source: RFC 1123, as Kubernetes reads it.
// subdomain is that of most other objects.
var (
	label     = lazyregexp.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	subdomain = lazyregexp.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	digest    = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
)

func (d *decoder) argoCD(c *Config, root *yamldoc.Fields) {
	a := &c.ArgoCD
	a.Timeout = DefaultArgoTimeout
	a.Position = root.Value.Position
	f := root.Map("argocd")
	if f == nil {
		if !root.Has("argocd") {
			d.lacks(root, "argocd", "write argocd: {manifest: {path: ...}}, {chart: ...}, or {skip: true} where it runs already")
		}
		return
	}
	a.Position = f.Value.Position
	if a.Namespace = f.Text("namespace"); a.Namespace != "" && !label.MatchString(a.Namespace) {
		f.Wrong("namespace", "use lower-case letters, digits and '-'", "argocd.namespace %q is not the name of a namespace", a.Namespace)
	}
	a.Skip = f.Bool("skip", false)
	if t := f.Duration("timeout"); t > 0 {
		a.Timeout = t
	}
	a.Settings = paths(f, "settings")
	if m := f.Map("manifest"); m != nil {
		a.Manifest = &Manifest{Path: m.Text("path"), URL: m.Text("url"), Digest: m.Text("digest"), Position: m.Value.Position}
		d.oneOf(m, "path", "url")
		d.pinned(m, a.Manifest.URL, a.Manifest.Digest)
		d.unknown(m)
	}
	if m := f.Map("chart"); m != nil {
		a.Chart = d.chart(m)
	}
	given := 0
	for _, key := range []string{"manifest", "chart", "skip"} {
		if f.Has(key) {
			given++
		}
	}
	if given != 1 {
		d.problems.Add("argocd", f.Value.Position, "choose how Argo CD is installed", "argocd needs one of manifest, chart and skip")
	}
	d.unknown(f)
}

func (d *decoder) chart(m *yamldoc.Fields) *Chart {
	chart := &Chart{
		Path: m.Text("path"), URL: m.Text("url"), RepoURL: m.Text("repoURL"), Name: m.Text("name"), Version: m.Text("version"),
		Digest: m.Text("digest"), ReleaseName: m.Text("releaseName"), ValueFiles: paths(m, "valueFiles"), Position: m.Value.Position,
	}
	d.oneOf(m, "path", "url", "repoURL")
	if values := m.Map("values"); values != nil {
		chart.Values, _ = values.Value.Any().(map[string]any)
	}
	address := chart.URL
	if chart.RepoURL != "" {
		address = chart.RepoURL
		d.need(m, "name", "")
		d.need(m, "version", "")
	}
	d.pinned(m, address, chart.Digest)
	d.unknown(m)
	return chart
}

// oneOf refuses anything but one of the keys.
func (d *decoder) oneOf(m *yamldoc.Fields, keys ...string) {
	given := 0
	for _, key := range keys {
		if m.Text(key) != "" {
			given++
		}
	}
	if given != 1 {
		d.problems.Add(m.Path, m.Value.Position, "", "%s needs one of %s", m.Path, strings.Join(keys, ", "))
	}
}

// pinned refuses what comes from elsewhere without saying what it has to be.
func (d *decoder) pinned(m *yamldoc.Fields, address, sum string) {
	switch {
	case sum != "" && !digest.MatchString(sum):
		m.Wrong("digest", "write sha256: and the 64 digits that sha256sum prints", "%s.digest is not a SHA-256 digest", m.Path)
	case address != "" && sum == "":
		d.lacks(m, "digest", "pin what is downloaded: digest: sha256:...")
	}
	if address == "" {
		return
	}
	scheme, _, _ := strings.Cut(address, "://")
	if scheme != "https" && scheme != "oci" && !loopback(address) {
		m.Wrong("url", "", "%s is not downloaded: its address does not start with https://", m.Path)
	}
}

func paths(f *yamldoc.Fields, key string) []Path {
	var out []Path
	for _, item := range f.Texts(key) {
		out = append(out, Path{item.Text, item.Position})
	}
	return out
}

func (d *decoder) root(r *Root, f *yamldoc.Fields) {
	if f == nil {
		return
	}
	r.Position = f.Value.Position
	r.Paths, r.Generate = paths(f, "paths"), f.Bool("generate", false)
	r.RepoURL, r.Revision = f.Text("repoURL"), f.Text("revision")
	if r.Generate && len(r.Paths) > 0 {
		f.Wrong("paths", "leave one of the two out", "root has both paths and generate")
	}
	if (r.RepoURL != "" || r.Revision != "") && len(r.Paths) > 0 {
		f.Wrong("paths", "write them into the files", "root.repoURL and root.revision are for what is generated, not for paths")
	}
	d.unknown(f)
}

func (d *decoder) wait(w *Wait, f *yamldoc.Fields) {
	w.Grace = DefaultGrace
	if f == nil {
		return
	}
	w.Skip, w.NoSmokes = f.Bool("skip", false), !f.Bool("smokes", true)
	w.Bands = paths(f, "bands")
	if t := f.Duration("grace"); t > 0 {
		w.Grace = t
	}
	w.Timeout = f.Duration("timeout")
	d.unknown(f)
}

func (d *decoder) portForward(p *PortForward, f *yamldoc.Fields) {
	*p = PortForward{Service: DefaultService, Port: DefaultServicePort, LocalPort: DefaultLocalPort}
	if f == nil {
		return
	}
	if text := f.Text("service"); text != "" {
		p.Service = text
	}
	for key, to := range map[string]*int{"port": &p.Port, "localPort": &p.LocalPort} {
		n, ok := f.Int(key)
		if !ok {
			continue
		}
		if n < 1 || n > 65535 {
			f.Wrong(key, "", "%s.%s %d is not a port", f.Path, key, n)
		}
		*to = n
	}
	d.unknown(f)
}
