package resourceset

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/repo/gotemplate"
)

// Most is how many objects of one set are made.
const Most = 1000

// errMost says that a set makes more than Most objects.
var errMost = fmt.Errorf("the templates make more than %d objects", Most)

// Set is what a ResourceSet says of its objects: the spec.resources and the
// spec.resourcesTemplate, and the inputs that each is filled in with; none for once,
// without inputs.
type Set struct {
	Resources []any            `json:"resources,omitempty"`
	Template  string           `json:"template,omitempty"`
	Inputs    []map[string]any `json:"inputs,omitempty"`
}

// Make fills in the templates of a set, those of spec.resources first. What two inputs make
// alike is there once, and what an annotation disables is not. Source: flux-operator,
// ResourceSet API reference.
func Make(s Set) ([]map[string]any, error) {
	m := maker{seen: map[string]bool{}}
	inputs := s.Inputs
	if len(inputs) == 0 {
		inputs = []map[string]any{nil}
	}
	for i, resource := range s.Resources {
		text, err := yaml.Marshal(resource)
		if err != nil {
			return nil, fmt.Errorf("resources[%d]: %w", i, err)
		}
		if err := m.fill(fmt.Sprintf("resources[%d]", i), string(text), inputs); err != nil {
			return nil, err
		}
	}
	if strings.TrimSpace(s.Template) != "" {
		if err := m.fill("resourcesTemplate", s.Template, inputs); err != nil {
			return nil, err
		}
	}
	return m.made, nil
}

type maker struct {
	made []map[string]any
	seen map[string]bool
}

// fill runs one template with each of the inputs.
func (m *maker) fill(name, text string, inputs []map[string]any) error {
	var input map[string]any
	functions := gotemplate.Functions()
	for _, unsteady := range gotemplate.Unsteady() {
		delete(functions, unsteady)
	}
	functions["inputs"] = func() map[string]any { return input }
	functions["toYaml"], functions["mustToYaml"] = gotemplate.ToYAML, gotemplate.ToYAML
	functions["slugify"] = slugify
	t, err := template.New(name).Delims("<<", ">>").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return err
	}
	for _, input = range inputs {
		var filled strings.Builder
		if err := t.Execute(&filled, nil); err != nil {
			return err
		}
		if err := m.read(filled.String()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// read adds the objects of a filled template.
func (m *maker) read(text string) error {
	documents := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var o unstructured.Unstructured
		switch err := documents.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if !o.IsList() {
			if err := m.add(&o); err != nil {
				return err
			}
			continue
		}
		list, err := o.ToList()
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := m.add(&list.Items[i]); err != nil {
				return err
			}
		}
	}
}

func (m *maker) add(o *unstructured.Unstructured) error {
	id := o.GroupVersionKind().Group + "/" + o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
	if len(o.Object) == 0 || m.seen[id] || o.GetAnnotations()["fluxcd.controlplane.io/reconcile"] == "disabled" {
		return nil
	}
	if len(m.made) == Most {
		return errMost
	}
	m.seen[id] = true
	m.made = append(m.made, o.Object)
	return nil
}

var slug = regexp.MustCompile(`^[a-z0-9]+([_-][a-z0-9]+)*$`)

// slugify knows the slugs of short names in small letters, which are their own. Others depend on
// tables of languages.
func slugify(text string) (string, error) {
	if !slug.MatchString(text) || len(text) > 63 {
		return "", errors.New("the slug of an input is not known")
	}
	return text, nil
}
