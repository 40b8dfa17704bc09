package catalogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Decode reads a list of entries in YAML or JSON. A field that entries do not
// have, and an entry that says too little, is an error.
func Decode(data []byte) ([]Entry, error) {
	var entries []Entry
	if err := strict(data, &entries); err != nil {
		return nil, err
	}
	for i := range entries {
		if err := entries[i].check(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return entries, nil
}

func decodeSet(data []byte) (Set, error) {
	var s Set
	if err := strict(data, &s); err != nil {
		return Set{}, err
	}
	if s.Set == "" || s.Version == "" || len(s.Source) == 0 || len(s.CRDs) == 0 {
		return Set{}, errors.New("a set has set, version, source and crds")
	}
	return s, nil
}

func strict(data []byte, to any) error {
	err := manifest.CheckAliases(data)
	var raw []byte
	if err == nil {
		raw, err = yaml.YAMLToJSONStrict(data)
	}
	if err != nil {
		return fmt.Errorf("read YAML: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// madeKinds are the kinds that Object and Child can make.
var madeKinds = map[string]bool{
	"Secret": true, "ConfigMap": true, "Service": true, "ServiceAccount": true, "Namespace": true, "StorageClass": true, "IngressClass": true,
	"GatewayClass": true, "PriorityClass": true, "RuntimeClass": true, "PersistentVolumeClaim": true,
}

// namespacedKinds are those of madeKinds that land in a namespace.
var namespacedKinds = map[string]bool{"Secret": true, "ConfigMap": true, "Service": true, "ServiceAccount": true, "PersistentVolumeClaim": true}

// check reports the first thing that is wrong with an entry.
func (e *Entry) check() error {
	switch {
	case e.Chart == "":
		return errors.New("an entry needs chart, the name of the chart")
	case len(e.Repositories) == 0 && len(e.Manifests) == 0:
		return fmt.Errorf("%s: an entry needs repositories or manifests, where the chart is published", e.Chart)
	case e.Version == "":
		return fmt.Errorf("%s: an entry needs version, what it was read from", e.Chart)
	case len(e.Source) == 0:
		return fmt.Errorf("%s: an entry needs source, the files it was read in", e.Chart)
	}
	var problems []error
	kind := func(field, text string) {
		if _, _, ok := splitKind(text); !ok {
			problems = append(problems, fmt.Errorf("%s: %s %q is not written as group/Kind", e.Chart, field, text))
		}
	}
	when := func(field string, w *When) {
		if err := w.check(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", e.Chart, field, err))
		}
	}
	for _, pattern := range e.Manifests {
		if len(pattern) > maxPattern {
			problems = append(problems, fmt.Errorf("%s: a pattern of manifests has more than %d bytes", e.Chart, maxPattern))
		}
	}
	for _, c := range e.CRDs {
		if (c.Set == "") == (len(c.List) == 0) {
			problems = append(problems, fmt.Errorf("%s: crds has either set or list", e.Chart))
		}
		for _, k := range c.Kinds {
			kind("crds.kinds", k)
		}
		when("crds", c.When)
	}
	for _, c := range e.Controllers {
		for _, k := range c.Kinds {
			kind("controllers.kinds", k)
		}
		when("controllers", c.When)
	}
	for _, w := range e.Webhooks {
		for _, k := range w.Kinds {
			kind("webhooks.kinds", k)
		}
		if w.Policy != "" && w.Policy != policyFail && w.Policy != policyIgnore {
			problems = append(problems, fmt.Errorf("%s: webhooks.policy %q is neither Fail nor Ignore", e.Chart, w.Policy))
		}
		when("webhooks", w.When)
	}
	for _, o := range e.Objects {
		if !madeKinds[o.Kind] || (o.Name == "") == (o.NamesValue == "") {
			problems = append(problems, fmt.Errorf("%s: objects needs either name or namesValue, and a kind that is referred to by name, not %q", e.Chart, o.Kind))
		}
		when("objects", o.When)
	}
	for _, c := range e.Children {
		kind("children.of", c.Of)
		if !madeKinds[c.Makes] || c.Name == "" {
			problems = append(problems, fmt.Errorf("%s: children needs a name, and makes a kind that is referred to by name, not %q", e.Chart, c.Makes))
		}
	}
	for _, a := range e.APIGroups {
		when("apiGroups", a.When)
	}
	for _, r := range e.Requires {
		kind("requires.kind", r.Kind)
		for _, version := range []string{r.Since, r.Before} {
			if _, err := semver.NewVersion(version); version != "" && err != nil {
				problems = append(problems, fmt.Errorf("%s: requires: %q is no version: %w", e.Chart, version, err))
			}
		}
		when("requires", r.When)
	}
	return errors.Join(problems...)
}

// The failure policies of webhooks.
const (
	policyFail   = "Fail"
	policyIgnore = "Ignore"
)
