package claims

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

const ns = "default"

// cluster is what a Binder sees, and changes to it.
type cluster struct {
	t      *testing.T
	client kubernetes.Interface
}

// claim is one as the scheduler asks for its volume.
func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: ns, ResourceVersion: "2", Annotations: map[string]string{storagehelpers.AnnSelectedNode: "node"},
	}}
}

// volume is one that only a node of a zone reaches.
func volume(name, zone string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}},
	}}
}

// set changes a claim, and waits until everybody has seen that.
func (c cluster) set(name string, change func(*corev1.PersistentVolumeClaim)) {
	c.t.Helper()
	all := c.client.CoreV1().PersistentVolumeClaims(ns)
	o, err := all.Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	change(o)
	_, err = all.Update(c.t.Context(), o, metav1.UpdateOptions{})
	c.done(err)
}

func (c cluster) done(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	synctest.Wait()
}

// make makes a volume.
func (c cluster) make(v *corev1.PersistentVolume) {
	c.t.Helper()
	_, err := c.client.CoreV1().PersistentVolumes().Create(c.t.Context(), v, metav1.CreateOptions{})
	c.done(err)
}

// bind binds a claim to a volume, as the controller of volumes does: in two steps.
func (c cluster) bind(name, to string) {
	c.t.Helper()
	c.set(name, func(o *corev1.PersistentVolumeClaim) { o.Spec.VolumeName = to })
	c.set(name, func(o *corev1.PersistentVolumeClaim) { o.Annotations[storagehelpers.AnnBindCompleted] = "yes" })
}

func TestBind(t *testing.T) {
	for name, tc := range map[string]struct {
		claims []string
		// happens is what the cluster does while the pod waits; waiting is asserted after it.
		happens []func(cluster)
		want    string
	}{
		"no claim to be made": {nil, nil, ""},
		"one claim": {[]string{"data"}, []func(cluster){
			func(c cluster) { c.make(volume("pv", "a")) },
			func(c cluster) { c.bind("data", "pv") },
		}, ""},
		"several claims, one after the other": {[]string{"data", "logs"}, []func(cluster){
			func(c cluster) { c.make(volume("pv-data", "a")) },
			func(c cluster) { c.bind("data", "pv-data") },
			func(c cluster) { c.make(volume("pv-logs", "a")) },
			func(c cluster) { c.bind("logs", "pv-logs") },
		}, ""},
		"the volume is seen after its claim": {[]string{"data"}, []func(cluster){
			func(c cluster) { c.bind("data", "pv") },
			func(c cluster) { c.make(volume("pv", "a")) },
		}, ""},
		"half bound": {[]string{"data"}, []func(cluster){
			func(c cluster) { c.make(volume("pv", "a")) },
			func(c cluster) {
				c.set("data", func(o *corev1.PersistentVolumeClaim) { o.Spec.VolumeName = "pv" })
			},
			func(cluster) { time.Sleep(Patience) },
		}, "binding volumes: context deadline exceeded"},
		"never bound": {[]string{"data"}, []func(cluster){
			func(cluster) { time.Sleep(Patience - time.Second) },
			func(cluster) { time.Sleep(time.Second) },
		}, "binding volumes: context deadline exceeded"},
		"the provisioner gives up": {[]string{"data", "logs"}, []func(cluster){
			func(c cluster) { c.make(volume("pv-data", "a")) },
			func(c cluster) { c.bind("data", "pv-data") },
			func(c cluster) {
				c.set("logs", func(o *corev1.PersistentVolumeClaim) { delete(o.Annotations, storagehelpers.AnnSelectedNode) })
			},
		}, "provisioning failed for claim logs"},
		"another node is selected": {[]string{"data"}, []func(cluster){
			func(c cluster) {
				c.set("data", func(o *corev1.PersistentVolumeClaim) { o.Annotations[storagehelpers.AnnSelectedNode] = "other" })
			},
		}, "provisioning failed for claim data"},
		"the claim goes": {[]string{"data"}, []func(cluster){
			func(c cluster) {
				c.done(c.client.CoreV1().PersistentVolumeClaims(ns).Delete(c.t.Context(), "data", metav1.DeleteOptions{}))
			},
		}, "look at claim data"},
		"the pod goes": {[]string{"data"}, []func(cluster){
			func(c cluster) {
				c.done(c.client.CoreV1().Pods(ns).Delete(c.t.Context(), "pod", metav1.DeleteOptions{}))
			},
		}, "pod does not exist any more"},
		"the node goes": {[]string{"data"}, []func(cluster){
			func(c cluster) {
				c.done(c.client.CoreV1().Nodes().Delete(c.t.Context(), "node", metav1.DeleteOptions{}))
			},
		}, "look at node node"},
		"the volume is elsewhere": {[]string{"data"}, []func(cluster){
			func(c cluster) { c.make(volume("pv", "b")) },
			func(c cluster) {
				c.set("data", func(o *corev1.PersistentVolumeClaim) { o.Spec.VolumeName = "pv" })
			},
		}, "volume pv does not fit node node"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: ns}, Spec: corev1.PodSpec{NodeName: "node"}}
				objects := []runtime.Object{pod, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{"zone": "a"}}}}
				var claims []*corev1.PersistentVolumeClaim
				for _, name := range tc.claims {
					before := claim(name) // the client of tests counts no versions
					before.ResourceVersion = "1"
					delete(before.Annotations, storagehelpers.AnnSelectedNode)
					claims, objects = append(claims, claim(name)), append(objects, before)
				}
				c := cluster{t, fake.NewClientset(objects...)}
				ctx, cancel := context.WithCancel(t.Context())
				factory := informers.NewSharedInformerFactory(c.client, 0)
				defer factory.Shutdown()
				defer cancel()
				b, err := New(c.client, factory)
				if err != nil {
					t.Fatal(err)
				}
				factory.Start(ctx.Done())
				factory.WaitForCacheSync(ctx.Done())

				ended := make(chan error, 1)
				go func() { ended <- b.Bind(ctx, pod, claims) }()
				synctest.Wait()
				for _, happens := range tc.happens {
					select {
					case err := <-ended:
						t.Fatalf("it ended early: %v", err)
					default:
					}
					happens(c)
				}
				synctest.Wait()
				select {
				case err := <-ended:
					if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
						t.Errorf("got %v, want %q", err, tc.want)
					}
				default:
					t.Error("it still waits")
				}
			})
		})
	}
}

// TestBindIsRefused: a claim that is not updated ends the wait, and so does its caller.
func TestBindIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: ns}, Spec: corev1.PodSpec{NodeName: "node"}}
		client := fake.NewClientset(pod, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}, claim("data"))
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(client, 0)
		defer factory.Shutdown()
		defer cancel()
		b, err := New(client, factory)
		if err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		if err := b.Bind(ctx, pod, []*corev1.PersistentVolumeClaim{claim("none")}); err == nil || !strings.Contains(err.Error(), "ask for the volume of claim none") {
			t.Errorf("got %v", err)
		}
		ended := make(chan error, 1)
		asking, stop := context.WithCancel(ctx)
		go func() { ended <- b.Bind(asking, pod, []*corev1.PersistentVolumeClaim{claim("data")}) }()
		synctest.Wait()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
