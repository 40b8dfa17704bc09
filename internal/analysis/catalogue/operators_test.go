package catalogue

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
)

// TestOperators decodes every file of an operator: it is in the file of its name,
// says what installs it and where that was read, and a package has one file.
func TestOperators(t *testing.T) {
	packages := map[string]string{}
	for _, file := range append(filesIn(t, generatedOperators), filesIn(t, writtenOperators)...) {
		o, ok, err := operatorAt(file)
		if !ok || err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if o.Name+".yaml" != path.Base(file) {
			t.Errorf("%s holds %s", file, o.Name)
		}
		for _, s := range o.Source {
			if !read.MatchString(s) {
				t.Errorf("%s: source %q is not written as owner/name@commit:path", file, s)
			}
		}
		checkCRDs(t, file, o.Kinds)
		for _, i := range o.Installed {
			if i.OLM == nil {
				continue
			}
			if packages[i.OLM.Package] != "" {
				t.Errorf("%s: package %s is in %s as well", file, i.OLM.Package, packages[i.OLM.Package])
			}
			packages[i.OLM.Package] = file
			if found, _, ok := OfPackage(i.OLM.Package); !ok || found.Name != o.Name {
				t.Errorf("%s: package %s is answered by %q", file, i.OLM.Package, found.Name)
			}
		}
	}
	if len(packages) < 150 {
		t.Errorf("only %d packages are known", len(packages))
	}
}

func TestOfPackage(t *testing.T) {
	for _, name := range []string{"", "../operators/x", "no-such-package"} {
		if _, _, ok := OfPackage(name); ok {
			t.Errorf("package %q is known", name)
		}
	}
	known, ok := KnownPackage("strimzi-kafka-operator")
	if !ok || !slices.ContainsFunc(known.Kinds, func(k infer.KnownKind) bool { return k.Group == "kafka.strimzi.io" && k.Kind == "Kafka" }) ||
		!slices.Contains(known.Modes, "AllNamespaces") || !strings.HasPrefix(known.Source, "as known of package strimzi-kafka-operator ") {
		t.Errorf("strimzi-kafka-operator: %+v", known)
	}
}

// TestDecodeOperator: what is not of the form is refused with the reason.
func TestDecodeOperator(t *testing.T) {
	const good = "operator: x\nversion: 1.0.0\nsource: [a/b@0123456789ab:c]\ninstalled: [{olm: {package: x, modes: [AllNamespaces]}}]\n"
	if _, err := DecodeOperator([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"version: 1.0.0\n":                                      "an operator needs operator",
		good + "kind: [a]\n":                                    `unknown field "kind"`,
		good + "kinds: [things]\n":                              "is not written as",
		good + "groups: [a.b/C]\n":                              "is no API group",
		good + "requires: [Secret]\n":                           "not written as group/Kind",
		good + "workloads: [a b c]\n":                           "is not written as",
		good + "webhooks: [{kinds: [a]}]\n":                     "not written as group/Kind",
		strings.Replace(good, "AllNamespaces", "Everywhere", 1): "there is no install mode",
		strings.Replace(good, "package: x,", "", 1):             "needs package",
		strings.Replace(good, "{olm: {package: x, modes: [AllNamespaces]}}", "{}", 1):   "one of manifests and olm",
		strings.Replace(good, "[{olm: {package: x, modes: [AllNamespaces]}}]", "[]", 1): "needs installed",
	} {
		if _, err := DecodeOperator([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nis %v, not %q", text, err, want)
		}
	}
}
