package rehearse

import (
	"context"
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

const (
	defaultAnnotation = "storageclass.kubernetes.io/is-default-class"
	// defaultClass is the name that k3s gives the class that it comes with.
	defaultClass = "local-path"
)

// clusterClass is a StorageClass that the cluster is taken to come with.
type clusterClass struct {
	name      string
	isDefault bool
	// component and by are who asks for it by name.
	component string
	by        *manifest.Object
}

// clusterClasses are the StorageClasses that the plane has from the beginning: a
// default one, as the clusters of k3d, kind and the clouds have, where nothing of the
// platform is the default; and those that claims name where no class of the platform is
// known, or not all of it is rendered.
func clusterClasses(loaded *analysis.Result) []clusterClass {
	ownDefault, some, brought, known := false, false, map[string]bool{}, map[string]bool{}
	var asked []clusterClass
	for _, c := range loaded.Platform.Components {
		objects := loaded.Objects[c.Name]
		for i := range objects {
			o := &objects[i]
			switch o.GetKind() {
			case "StorageClass":
				ownDefault = ownDefault || o.GetAnnotations()[defaultAnnotation] == "true"
				brought[o.GetName()], some = true, true
			case "PersistentVolume": // its claims need no class that is there
				name, _, _ := unstructured.NestedString(o.Object, "spec", "storageClassName")
				brought[name] = true
			}
			for _, name := range infer.StorageClasses(*o) {
				// A claim of a class that cannot be fails by itself.
				if !known[name] && len(validation.NameIsDNSSubdomain(name, false)) == 0 {
					known[name] = true
					asked = append(asked, clusterClass{name: name, component: c.Name, by: o})
				}
			}
		}
	}
	all := slices.DeleteFunc(asked, func(c clusterClass) bool {
		return brought[c.name] || some && len(loaded.Unrendered) == 0
	})
	if ownDefault || brought[defaultClass] {
		return all
	}
	if i := slices.IndexFunc(all, func(c clusterClass) bool { return c.name == defaultClass }); i >= 0 {
		all[i].isDefault = true
		return all
	}
	return append(all, clusterClass{name: defaultClass, isDefault: true})
}

// toldOfClasses says which classes a rehearsal takes for granted that claims name.
func toldOfClasses(loaded *analysis.Result) []finding.Finding {
	var out []finding.Finding
	for _, c := range clusterClasses(loaded) {
		if c.by != nil {
			out = append(out, finding.Finding{
				Rule: "assumed", Severity: finding.Warning, Scope: finding.Rule, Component: c.component, Resource: c.by.Resource(), Position: c.by.Origin.Position(), Basis: finding.Rendered,
				Message: fmt.Sprintf("StorageClass %s is taken to come with the cluster, since nothing here is known to bring it", c.name),
			})
		}
	}
	return out
}

// applyClasses puts the classes of the cluster onto the plane, and takes those away that it
// has from elsewhere: from its start, or from another rehearsal.
func applyClasses(ctx context.Context, access *rest.Config, loaded *analysis.Result) error {
	client, err := storagev1client.NewForConfig(access)
	if err != nil {
		return err
	}
	wanted := clusterClasses(loaded)
	var there *storagev1.StorageClassList
	err = patiently(ctx, func() error {
		there, err = client.StorageClasses().List(ctx, metav1.ListOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("list the StorageClasses: %w", err)
	}
	for i := range there.Items {
		class := &there.Items[i]
		if class.Provisioner != settings.ClusterProvisioner || slices.ContainsFunc(wanted, func(c clusterClass) bool { return c.name == class.Name }) {
			continue
		}
		err := patiently(ctx, func() error { return client.StorageClasses().Delete(ctx, class.Name, metav1.DeleteOptions{}) })
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove StorageClass %s: %w", class.Name, err)
		}
	}
	for _, c := range wanted {
		if err := c.make(ctx, client); err != nil {
			return err
		}
	}
	return nil
}

// MakeDefaultClass puts the default StorageClass of a cluster onto a plane of which nobody
// knows yet what it is for. A rehearsal takes it away where its platform brings its own.
func MakeDefaultClass(ctx context.Context, access *rest.Config) error {
	client, err := storagev1client.NewForConfig(access)
	if err != nil {
		return err
	}
	return clusterClass{name: defaultClass, isDefault: true}.make(ctx, client)
}

func (c clusterClass) make(ctx context.Context, client storagev1client.StorageClassesGetter) error {
	late := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: c.name}, Provisioner: settings.ClusterProvisioner, VolumeBindingMode: &late,
	}
	if c.isDefault {
		class.Annotations = map[string]string{defaultAnnotation: "true"}
	}
	err := patiently(ctx, func() error {
		_, err := client.StorageClasses().Create(ctx, class, metav1.CreateOptions{})
		return err
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make StorageClass %s: %w", c.name, err)
	}
	return nil
}
