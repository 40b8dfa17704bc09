package smokejob

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// DefaultTimeout is that of a smoke whose component and ladder say none.
const DefaultTimeout = 10 * time.Minute

// What a pod of the Job is given. It reads a few objects and holds none.
const (
	cpuRequest, memoryRequest, memoryLimit = "50m", "64Mi", "256Mi"
	// user is nobody in particular, so that the image need not name one.
	user = 65532
	// retries make up for a node that goes away; what does not hold is asked again
	// by the pod itself.
	retries = 2
	// farewell is the part of the timeout that is left to the pod to say what does
	// not hold before the deadline of the Job ends it, between bounds.
	farewellShare               = 10
	leastFarewell, mostFarewell = time.Second, 15 * time.Second
	// hookWave puts the Job behind what it needs.
	hookWave = 1
)

// FingerprintAnnotation holds Input.Fingerprint.
const FingerprintAnnotation = "ladder.rollout-ladder.dev/validates"

// Input is one smoke.
type Input struct {
	// Name is that of the component, and of the objects.
	Name string
	// Namespace is where the Job runs.
	Namespace string
	// Image holds the command ladder.
	Image  string
	Checks []model.Check
	// Timeout is the component's, after which the smoke has failed; 0 means
	// DefaultTimeout.
	Timeout time.Duration
	// Labels are put on every object.
	Labels map[string]string
	// Kinds knows the kinds that the checks look at.
	Kinds *Kinds
	// Fingerprint changes whenever what the smoke validates changes; empty for
	// none. Argo CD runs a hook when something else of its Application changes, so
	// that the Job runs again with it.
	Fingerprint string
}

// Objects makes the objects of a smoke in the order in which they are applied.
func Objects(in Input) ([]*unstructured.Unstructured, error) {
	switch {
	case in.Namespace == "":
		return nil, fmt.Errorf("smoke %s has no namespace to run its Job in", in.Name)
	case len(in.Checks) == 0:
		return nil, fmt.Errorf("smoke %s has no checks", in.Name)
	case in.Image == "":
		return nil, fmt.Errorf("smoke %s has no image to run", in.Name)
	case in.Kinds == nil:
		return nil, errors.New("make a smoke Job: the kinds are not given")
	}
	b := builder{in: in}
	file, err := Marshal(in.Name, in.Checks)
	if err != nil {
		return nil, err
	}
	rights, err := b.rights(in.Checks)
	if err != nil {
		return nil, err
	}
	config := &corev1.ConfigMap{TypeMeta: typed("v1", "ConfigMap"), ObjectMeta: b.meta(in.Namespace), Data: map[string]string{Key: string(file)}}
	if in.Fingerprint != "" {
		config.Annotations = map[string]string{FingerprintAnnotation: in.Fingerprint}
	}
	no := false
	b.add(&corev1.ServiceAccount{TypeMeta: typed("v1", "ServiceAccount"), ObjectMeta: b.meta(in.Namespace), AutomountServiceAccountToken: &no})
	b.add(config)
	b.grant(rights)
	b.add(b.job())
	return b.out, b.err
}

// YAML writes the objects as one file.
func YAML(objects []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// Rendered are the objects as a component renders to.
func Rendered(objects []*unstructured.Unstructured) []manifest.Object {
	out := make([]manifest.Object, 0, len(objects))
	for _, o := range objects {
		out = append(out, manifest.Object{Unstructured: o, Target: o.GetNamespace()})
	}
	return out
}

type builder struct {
	in  Input
	out []*unstructured.Unstructured
	err error
}

func typed(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

func (b *builder) meta(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: b.in.Name, Namespace: namespace, Labels: b.in.Labels}
}

// add takes an object without what only the cluster writes.
func (b *builder) add(o runtime.Object) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		b.err = cmp.Or(b.err, fmt.Errorf("make the smoke Job of %s: %w", b.in.Name, err))
		return
	}
	delete(content, "status")
	b.out = append(b.out, &unstructured.Unstructured{Object: content})
}

// grant makes one Role for each namespace, and a ClusterRole for what is in none.
func (b *builder) grant(rights []right) {
	for len(rights) > 0 {
		namespace := rights[0].namespace
		n := 1
		for n < len(rights) && rights[n].namespace == namespace {
			n++
		}
		b.role(namespace, rules(rights[:n]))
		rights = rights[n:]
	}
}

// rules merges rights on several names of one kind.
func rules(rights []right) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	var last right
	for i, r := range rights {
		same := r
		same.name = last.name
		if i > 0 && same == last && r.name != "" && last.name != "" {
			rule := &out[len(out)-1]
			rule.ResourceNames = append(rule.ResourceNames, r.name)
			continue
		}
		rule := rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}}
		if r.name != "" {
			rule.ResourceNames = []string{r.name}
		}
		out, last = append(out, rule), r
	}
	return out
}

func (b *builder) role(namespace string, rules []rbacv1.PolicyRule) {
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: b.in.Name, Namespace: b.in.Namespace}}
	if namespace == "" {
		// Two smokes of one name may run in two namespaces.
		meta := b.meta("")
		meta.Name = "ladder-smoke-" + b.in.Namespace + "-" + b.in.Name
		b.add(&rbacv1.ClusterRole{TypeMeta: typed(rbacv1.SchemeGroupVersion.String(), "ClusterRole"), ObjectMeta: meta, Rules: rules})
		b.add(&rbacv1.ClusterRoleBinding{
			TypeMeta: typed(rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding"), ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		})
		return
	}
	b.add(&rbacv1.Role{TypeMeta: typed(rbacv1.SchemeGroupVersion.String(), "Role"), ObjectMeta: b.meta(namespace), Rules: rules})
	b.add(&rbacv1.RoleBinding{
		TypeMeta: typed(rbacv1.SchemeGroupVersion.String(), "RoleBinding"), ObjectMeta: b.meta(namespace), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: b.in.Name},
	})
}

// job makes the Job. Its pod meets the restricted Pod Security Standard.
func (b *builder) job() *batchv1.Job {
	timeout := cmp.Or(b.in.Timeout, DefaultTimeout)
	wait := timeout - min(max(timeout/farewellShare, leastFarewell), mostFarewell)
	yes, no, uid, deadline, backoff := true, false, int64(user), int64(timeout/time.Second), int32(retries)
	meta := b.meta(b.in.Namespace)
	meta.Annotations = map[string]string{
		manifest.HookAnnotation:                 "Sync",
		"argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
		manifest.WaveAnnotation:                 strconv.Itoa(hookWave),
	}
	return &batchv1.Job{
		TypeMeta: typed("batch/v1", "Job"), ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			BackoffLimit: &backoff, ActiveDeadlineSeconds: &deadline,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: b.in.Labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: b.in.Name, AutomountServiceAccountToken: &yes,
					EnableServiceLinks: &no,
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: &yes, RunAsUser: &uid, RunAsGroup: &uid,
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: "smoke", Image: b.in.Image, Args: Args(wait),
						VolumeMounts: []corev1.VolumeMount{{Name: "checks", MountPath: mount, ReadOnly: true}},
						Resources: corev1.ResourceRequirements{
							Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpuRequest), corev1.ResourceMemory: resource.MustParse(memoryRequest)},
							Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memoryLimit)},
						},
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, RunAsNonRoot: &yes,
							Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
						// A failed pod says what does not hold where kubectl and Argo CD show it.
						TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
					}},
					Volumes: []corev1.Volume{{Name: "checks", VolumeSource: corev1.VolumeSource{
						ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: b.in.Name}},
					}}},
				},
			},
		},
	}
}
