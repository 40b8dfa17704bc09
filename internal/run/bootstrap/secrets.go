package bootstrap

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// secretTypeLabel is how Argo CD finds its Secrets. Source: Argo CD,
// "Declarative Setup", Repositories.
const secretTypeLabel = "argocd.argoproj.io/secret-type"

// secretObjects makes the Secrets of a configuration. What is missing is told all
// at once.
func (v *values) secretObjects(c *Config, argoNamespace string) ([]manifest.Object, error) {
	var out []manifest.Object
	var wrong []error
	add := func(objects []manifest.Object, err error) {
		out = append(out, objects...)
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	for _, r := range c.Repositories {
		add(v.repository(r, argoNamespace))
	}
	for _, p := range c.PullSecrets {
		add(v.pullSecret(p))
	}
	for _, s := range c.Secrets {
		add(v.secretObject(s))
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	taken := map[string]bool{}
	for _, o := range out {
		id := o.GetNamespace() + "/" + o.GetName()
		if taken[id] {
			return nil, &repofs.InputError{Position: o.Origin.Position(), Message: fmt.Sprintf("Secret %s is written twice", id), Hint: "give each its own name"}
		}
		taken[id] = true
	}
	return out, nil
}

// repository makes a repository Secret. Source: Argo CD, "Declarative Setup",
// Repositories.
func (v *values) repository(r Repository, namespace string) ([]manifest.Object, error) {
	data := map[string]string{"url": r.URL, "type": r.Type}
	if r.Project != "" {
		data["project"] = r.Project
	}
	if r.Type == "helm" && !r.Template {
		data["name"] = r.Name
	}
	if r.Insecure {
		data["insecure"] = "true"
	}
	if r.EnableOCI {
		data["enableOCI"] = "true"
	}
	var wrong []error
	for _, f := range r.Fields {
		read := v.word
		if f.Key == "sshPrivateKey" || f.Key == "githubAppPrivateKey" || f.Key == "tlsClientCertData" || f.Key == "tlsClientCertKey" {
			read = v.get // a key needs the line break at its end
		}
		text, err := read(f.Value)
		if err != nil {
			wrong = append(wrong, err)
		}
		data[f.Key] = text
	}
	kind := "repository"
	if r.Template {
		kind = "repo-creds"
	}
	o := secret(r.Name, namespace, "Opaque", data, map[string]string{secretTypeLabel: kind})
	o.Origin = manifest.Origin{File: r.Position.File, Line: r.Position.Line}
	return []manifest.Object{o}, errors.Join(wrong...)
}

// dockerAuth is one account of a .dockerconfigjson. Source: Kubernetes, "Pull an
// Image from a Private Registry".
type dockerAuth struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Auth     string `json:"auth"`
}

func (v *values) pullSecret(p PullSecret) ([]manifest.Object, error) {
	text, err := v.dockerConfig(p)
	if err != nil {
		return nil, err
	}
	var out []manifest.Object
	for _, ns := range p.Namespaces {
		o := secret(p.Name, ns, "kubernetes.io/dockerconfigjson", map[string]string{".dockerconfigjson": text}, nil)
		o.Origin = manifest.Origin{File: p.Position.File, Line: p.Position.Line}
		out = append(out, o)
	}
	return out, nil
}

func (v *values) dockerConfig(p PullSecret) (string, error) {
	if len(p.Registries) == 0 {
		text, err := v.get(p.Config)
		if err != nil {
			return "", err
		}
		var auths struct {
			Auths map[string]any `json:"auths"`
		}
		if json.Unmarshal([]byte(text), &auths) != nil || len(auths.Auths) == 0 {
			// The cause could quote it.
			return "", &repofs.InputError{Position: p.Config.Position, Message: p.Config.Field + " is no .dockerconfigjson: it has no auths", Hint: "docker login writes one to ~/.docker/config.json, unless it keeps passwords in a credential store"}
		}
		return text, nil
	}
	auths := map[string]dockerAuth{}
	var wrong []error
	for _, r := range p.Registries {
		user, err := v.word(r.Username)
		if err != nil {
			wrong = append(wrong, err)
		}
		password, err := v.word(r.Password)
		if err != nil {
			wrong = append(wrong, err)
		}
		auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
		v.secret = append(v.secret, auth)
		auths[r.Server] = dockerAuth{user, password, auth}
	}
	text, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		wrong = append(wrong, errors.New("write the pull Secret "+p.Name))
	}
	return string(text), errors.Join(wrong...)
}

func (v *values) secretObject(s Secret) ([]manifest.Object, error) {
	data := map[string]string{}
	var wrong []error
	for _, f := range s.Data {
		text, err := v.get(f.Value)
		if err != nil {
			wrong = append(wrong, err)
		}
		data[f.Key] = text
	}
	kind := s.Type
	if kind == "" {
		kind = "Opaque"
	}
	o := secret(s.Name, s.Namespace, kind, data, s.Labels)
	o.Origin = manifest.Origin{File: s.Position.File, Line: s.Position.Line}
	return []manifest.Object{o}, errors.Join(wrong...)
}

// secret makes a Secret object.
func secret(name, namespace, kind string, data, labels map[string]string) manifest.Object {
	encoded := make(map[string]any, len(data))
	for key, text := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": kind,
		"metadata": map[string]any{"name": name, "namespace": namespace}, "data": encoded,
	}}
	if len(labels) > 0 {
		u.SetLabels(labels)
	}
	return manifest.Object{Unstructured: u, Target: namespace}
}
