package postbuild

import (
	"errors"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// switchKey is the label or annotation that keeps variables from being filled in.
const switchKey = "kustomize.toolkit.fluxcd.io/substitute"

// Apply changes objects as Flux does before it applies them. maxOutput bounds the
// text that the objects together become, in bytes. Errors are *source.Error.
func Apply(objects []manifest.Object, p *model.PostBuild, maxOutput int) error {
	if p == nil {
		return nil
	}
	for i := range objects {
		o := &objects[i]
		decrypted := withoutCiphertext(o.Object)
		if p.Substitute && o.GetLabels()[switchKey] != "disabled" && o.GetAnnotations()[switchKey] != "disabled" {
			filled, size, err := fill(decrypted, p)
			if err != nil {
				return source.Errorf(o.Origin.Position(), "the variables of %s %s cannot be filled in: %w", o.GetKind(), o.GetName(), err)
			}
			if maxOutput -= size; maxOutput < 0 {
				return source.Errorf(o.Origin.Position(), "its variables make the objects larger than the limit; look for what makes them so large")
			}
			decrypted = filled
		}
		o.Unstructured = &unstructured.Unstructured{Object: decrypted}
	}
	return nil
}

// fill fills variables into the YAML of an object, as Flux does: the text of a value
// may become a number. Source: github.com/fluxcd/pkg/kustomize, SubstituteVariables.
func fill(o map[string]any, p *model.PostBuild) (filled map[string]any, size int, err error) {
	text, err := yaml.Marshal(o)
	if err != nil {
		return nil, 0, err
	}
	if !strings.Contains(string(text), "$") {
		return o, 0, nil
	}
	tree, err := parse.Parse(string(text))
	if err != nil {
		return nil, 0, err
	}
	unknown := map[string]bool{}
	written := string(text)
	if p.Open {
		bare(tree.Root, p.Variables, unknown)
		// Another use of the variable in the object may have a default.
		written = plain.ReplaceAllStringFunc(written, func(use string) string {
			if name := strings.Trim(use, "${}"); unknown[name] && !strings.HasPrefix(use, "$$") {
				return left + name + right
			}
			return use
		})
	}
	out, err := envsubst.Eval(written, func(name string) (string, bool) {
		if unknown[name] && !defaults(tree.Root, name) {
			return "${" + name + "}", true
		}
		return p.Variables[name], true
	})
	if err != nil {
		return nil, 0, err
	}
	out = strings.NewReplacer(left, "${", right, "}").Replace(out)
	data, err := yaml.YAMLToJSON([]byte(out))
	if err != nil {
		return nil, 0, err
	}
	if err := utiljson.Unmarshal(data, &filled); err != nil {
		return nil, 0, err
	}
	if filled == nil {
		return nil, 0, errors.New("nothing is left")
	}
	if u := (&unstructured.Unstructured{Object: filled}); u.GetKind() == "" || u.GetAPIVersion() == "" {
		return nil, 0, errors.New("no object is left")
	}
	return filled, len(out), nil
}

// plain matches a variable without a default, or one that is escaped.
var plain = lazyregexp.New(`\$?\$\{[_A-Za-z][_A-Za-z0-9]*\}`)

// What stands around the name of a variable that stays, meanwhile.
const left, right = "LADDERxLEFTx", "xRIGHTxLADDER"

// defaults reports whether a use of a variable has a default.
func defaults(n parse.Node, name string) bool {
	switch n := n.(type) {
	case *parse.ListNode:
		return slices.ContainsFunc(n.Nodes, func(below parse.Node) bool { return defaults(below, name) })
	case *parse.FuncNode:
		return n.Param == name && strings.ContainsAny(n.Name, "-=") || slices.ContainsFunc(n.Args, func(below parse.Node) bool { return defaults(below, name) })
	}
	return false
}

// bare collects the variables without a known value that are used without a default.
func bare(n parse.Node, known map[string]string, unknown map[string]bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, below := range n.Nodes {
			bare(below, known, unknown)
		}
	case *parse.FuncNode:
		if _, ok := known[n.Param]; !ok && !strings.ContainsAny(n.Name, "-=+?") {
			unknown[n.Param] = true
		}
		for _, below := range n.Args {
			bare(below, known, unknown)
		}
	}
}

// withoutCiphertext is an object without what SOPS adds to it. The values that are
// encrypted are empty: nobody without the key knows them.
func withoutCiphertext(o map[string]any) map[string]any {
	if _, ok := o["sops"].(map[string]any); !ok {
		return o
	}
	out := make(map[string]any, len(o))
	for key, value := range o {
		if key != "sops" {
			out[key] = cleared(value)
		}
	}
	return out
}

func cleared(v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "ENC[") {
			return ""
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = cleared(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = cleared(value)
		}
		return out
	default:
		return v
	}
}
