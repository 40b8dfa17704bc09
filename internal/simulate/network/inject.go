package network

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/plane/egress"
	"github.com/rollout-ladder/ladder/internal/simulate/certificate"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// hook is one caBundle somewhere on the plane.
type hook struct {
	kind    string // the kind of the object that holds it, as world names it
	object  metav1.Object
	service *egress.Service // what is called; nil for a URL
	empty   bool
	pointer string // JSON pointer of the caBundle
}

var (
	validatingResource  = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	mutatingResource    = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	definitionResource  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServiceResource  = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	resourcesByHookKind = map[string]schema.GroupVersionResource{
		world.Validating: validatingResource, world.Mutating: mutatingResource, world.Definitions: definitionResource, apiServices: apiServiceResource,
	}
)

const apiServices = "apiregistration.k8s.io/APIService"

// hooks lists the caBundles of one object; nil for an object that is gone.
func (n *Network) hooks(kind, name string) []hook {
	switch kind {
	case world.Validating:
		if c := n.world.Validating.Get("", name); c != nil {
			return validatingHooks(c)
		}
	case world.Mutating:
		if c := n.world.Mutating.Get("", name); c != nil {
			return mutatingHooks(c)
		}
	case world.Definitions:
		if c := n.world.Definitions.Get("", name); c != nil {
			return definitionHooks(c)
		}
	case apiServices:
		obj, ok, err := n.apiServices.GetStore().GetByKey(name)
		if u, isObject := obj.(*unstructured.Unstructured); err == nil && ok && isObject {
			return apiServiceHooks(u)
		}
	}
	return nil
}

func admissionHook(kind string, o metav1.Object, i int, c admissionv1.WebhookClientConfig) hook {
	h := hook{kind: kind, object: o, empty: len(c.CABundle) == 0, pointer: "/webhooks/" + strconv.Itoa(i) + "/clientConfig/caBundle"}
	if s := c.Service; s != nil {
		h.service = &egress.Service{Namespace: s.Namespace, Name: s.Name}
	}
	return h
}

func validatingHooks(c *admissionv1.ValidatingWebhookConfiguration) []hook {
	var out []hook
	for i, w := range c.Webhooks {
		out = append(out, admissionHook(world.Validating, c, i, w.ClientConfig))
	}
	return out
}

func mutatingHooks(c *admissionv1.MutatingWebhookConfiguration) []hook {
	var out []hook
	for i, w := range c.Webhooks {
		out = append(out, admissionHook(world.Mutating, c, i, w.ClientConfig))
	}
	return out
}

func definitionHooks(c *apiextensionsv1.CustomResourceDefinition) []hook {
	if c.Spec.Conversion == nil || c.Spec.Conversion.Webhook == nil || c.Spec.Conversion.Webhook.ClientConfig == nil {
		return nil
	}
	config := c.Spec.Conversion.Webhook.ClientConfig
	h := hook{kind: world.Definitions, object: c, empty: len(config.CABundle) == 0, pointer: "/spec/conversion/webhook/clientConfig/caBundle"}
	if s := config.Service; s != nil {
		h.service = &egress.Service{Namespace: s.Namespace, Name: s.Name}
	}
	return []hook{h}
}

func apiServiceHooks(u *unstructured.Unstructured) []hook {
	service, found, err := unstructured.NestedStringMap(u.Object, "spec", "service")
	if err != nil || !found {
		service = map[string]string{}
		service["name"], _, _ = unstructured.NestedString(u.Object, "spec", "service", "name")
		service["namespace"], _, _ = unstructured.NestedString(u.Object, "spec", "service", "namespace")
	}
	insecure, _, _ := unstructured.NestedBool(u.Object, "spec", "insecureSkipTLSVerify")
	bundle, _, _ := unstructured.NestedString(u.Object, "spec", "caBundle")
	if service["name"] == "" || insecure {
		return nil
	}
	return []hook{{
		kind: apiServices, object: u, empty: bundle == "", pointer: "/spec/caBundle",
		service: &egress.Service{Namespace: service["namespace"], Name: service["name"]},
	}}
}

// injector finds the rule of who writes a caBundle.
func (n *Network) injector(h hook) (rule.Injector, bool) {
	for _, i := range n.rules().Injectors {
		if i.Name != "" && !globMatch(i.Name, h.object.GetName()) {
			continue
		}
		if i.Service != "" && (h.service == nil || !globMatch(i.Service, h.service.Name)) {
			continue
		}
		key, value, hasValue := strings.Cut(i.Annotation, "=")
		got, has := h.object.GetAnnotations()[key]
		if i.Annotation != "" && (!has || hasValue && got != value) {
			continue
		}
		return i, true
	}
	return rule.Injector{}, false
}

func globMatch(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// awaitsInjection reports whether every caBundle for the Service is still to be
// written by its injector: until then the API server trusts nobody there.
func (n *Network) awaitsInjection(s egress.Service) bool {
	awaiting, trusted := false, false
	for _, kind := range []string{world.Validating, world.Mutating, world.Definitions} {
		for _, name := range n.names(kind) {
			for _, h := range n.hooks(kind, name) {
				if h.service == nil || h.service.Namespace != s.Namespace || h.service.Name != s.Name {
					continue
				}
				_, ruled := n.injector(h)
				awaiting = awaiting || h.empty && ruled
				trusted = trusted || !h.empty || !ruled
			}
		}
	}
	return awaiting && !trusted
}

func (n *Network) names(kind string) []string {
	var out []string
	switch kind {
	case world.Validating:
		for _, c := range n.world.Validating.All() {
			out = append(out, c.Name)
		}
	case world.Mutating:
		for _, c := range n.world.Mutating.All() {
			out = append(out, c.Name)
		}
	case world.Definitions:
		for _, c := range n.world.Definitions.All() {
			if len(definitionHooks(c)) > 0 {
				out = append(out, c.Name)
			}
		}
	case apiServices:
		out = n.apiServices.GetStore().ListKeys()
	}
	return out
}

// inject writes the empty caBundles of one object whose injector is available
// and knows the authority.
func (n *Network) inject(ctx context.Context, key string) (time.Duration, error) {
	kind, name, _ := strings.Cut(key, "|")
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value"`
	}
	var patch []operation
	var waits []world.Ref
	for _, h := range n.hooks(kind, name) {
		i, ok := n.injector(h)
		if !h.empty || !ok {
			continue
		}
		w, found := n.workloads.Find("injector/"+i.Name+"/"+i.Service+"/"+i.Annotation, i.Controller)
		if !found || !w.Available {
			continue
		}
		bundle, ref := n.authority(i, h)
		if bundle == nil {
			waits = append(waits, ref)
			continue
		}
		patch = append(patch, operation{"add", h.pointer, base64.StdEncoding.EncodeToString(bundle)})
	}
	n.waiting.Set(key, waits)
	if len(patch) > 0 {
		text, err := json.Marshal(patch)
		if err != nil {
			return 0, fmt.Errorf("inject into %s: %w", name, err)
		}
		_, err = n.world.Dynamic.Resource(resourcesByHookKind[kind]).Patch(ctx, name, types.JSONPatchType, text, metav1.PatchOptions{FieldManager: "ladder-simulated-injector"})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
			return 0, fmt.Errorf("inject into %s: %w", name, err)
		}
	}
	for _, w := range waits {
		if w.Kind != world.Secrets {
			return n.world.Clock.AtLeast(lookAgain, time.Second), nil // nobody tells of a Certificate
		}
	}
	return 0, nil
}

// authority finds what an injector writes; nil and what it waits for when that
// is not there yet. The plane trusts the certificates of its webhooks whatever
// is written, so a Secret that holds no real certificate does no harm.
func (n *Network) authority(i rule.Injector, h hook) ([]byte, world.Ref) {
	annotations := h.object.GetAnnotations()
	ns, name := world.SplitKey(annotations[i.Secret])
	if i.Certificate != "" {
		ns, name = world.SplitKey(annotations[i.Certificate])
		c, ok := n.world.Custom("cert-manager.io", "Certificate", ns, name).(*unstructured.Unstructured)
		if !ok {
			return nil, world.Ref{Kind: "cert-manager.io/Certificate", Namespace: ns, Name: name}
		}
		name, _, _ = unstructured.NestedString(c.Object, "spec", "secretName")
	} else if i.Secret == "" {
		return n.certificates.Bundle(), world.Ref{}
	}
	secret := n.world.Secrets.Get(ns, name)
	if secret == nil || len(secret.Data["ca.crt"]) == 0 {
		return nil, world.Ref{Kind: world.Secrets, Namespace: ns, Name: name}
	}
	bundle := secret.Data["ca.crt"]
	if _, err := certificate.Parse(bundle); err != nil || h.kind == apiServices {
		return n.certificates.Bundle(), world.Ref{}
	}
	return bundle, world.Ref{}
}
