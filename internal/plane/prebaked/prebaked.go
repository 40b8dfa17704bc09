package prebaked

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/gob"
	"fmt"
	"io"
	"sync"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Prefixes are the keys of etcd below which everything is held, in order.
func Prefixes() []string {
	return []string{
		"/registry/apiregistration.k8s.io/apiservices/",
		"/registry/clusterrolebindings/",
		"/registry/clusterroles/",
		"/registry/flowschemas/",
		"/registry/priorityclasses/",
		"/registry/prioritylevelconfigurations/",
		"/registry/rolebindings/",
		"/registry/roles/",
	}
}

// Pair is a key of etcd and its value, an object as the API server stores it.
type Pair struct {
	Key   string
	Value []byte
}

// Contents are pairs, by key, and the version of Kubernetes that made them.
type Contents struct {
	Kubernetes string
	Pairs      []Pair
}

//go:embed etcd.gob.gz
var embedded []byte

// For is what a plane of a version of Kubernetes, such as "v1.36.3", begins with;
// nothing for another version than the embedded one.
func For(kubernetes string) ([]Pair, error) {
	contents, err := Read(embedded)
	if err != nil || contents.Kubernetes != kubernetes {
		return nil, err
	}
	return contents.Pairs, nil
}

// Read reads what Write wrote.
func Read(content []byte) (Contents, error) {
	var c Contents
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err == nil {
		err = gob.NewDecoder(unzipped).Decode(&c)
	}
	if err != nil {
		return Contents{}, fmt.Errorf("read the prebaked etcd: %w", err)
	}
	return c, nil
}

// Write writes contents; the same contents give the same bytes.
func Write(out io.Writer, c Contents) error {
	zipped, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err == nil {
		err = gob.NewEncoder(zipped).Encode(c)
	}
	if err == nil {
		err = zipped.Close()
	}
	if err != nil {
		return fmt.Errorf("write the prebaked etcd: %w", err)
	}
	return nil
}

var binaryMagic = []byte("k8s\x00")

// codec decodes and encodes objects.
type codec struct {
	decoder      runtime.Decoder
	binary, text runtime.Encoder
}

// stored is the codec of the API server, without defaults and conversion: an object stays
// what was stored. Its table of all kinds is made when a plane begins, not in every command.
var stored = sync.OnceValue(func() codec {
	kinds := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(kinds))
	utilruntime.Must(apiregistrationv1.AddToScheme(kinds))
	return codec{
		decoder: serializer.NewCodecFactory(kinds).UniversalDeserializer(),
		binary:  protobuf.NewSerializer(kinds, kinds),
		text:    json.NewSerializerWithOptions(json.DefaultMetaFactory, kinds, kinds, json.SerializerOptions{}),
	}
})

// Fresh is the pair as one that a plane makes at that moment: with a UID of its
// own and times of then.
func (p Pair) Fresh(now time.Time) (Pair, error) {
	return p.stamp(metav1.NewTime(now.Truncate(time.Second)), uuid.NewUUID())
}

// Bare is the pair without UID and times.
func (p Pair) Bare() (Pair, error) { return p.stamp(metav1.Time{}, "") }

func (p Pair) stamp(at metav1.Time, uid types.UID) (Pair, error) {
	object, kind, err := stored().decoder.Decode(p.Value, nil, nil)
	if err != nil {
		return Pair{}, fmt.Errorf("decode %s: %w", p.Key, err)
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	access, err := meta.Accessor(object)
	if err != nil {
		return Pair{}, fmt.Errorf("decode %s: %w", p.Key, err)
	}
	access.SetUID(uid)
	access.SetCreationTimestamp(at)
	managed := access.GetManagedFields()
	for i := range managed {
		managed[i].Time = &at
	}
	access.SetManagedFields(managed)
	switch o := object.(type) {
	case *flowcontrolv1.FlowSchema:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = at
		}
	case *flowcontrolv1.PriorityLevelConfiguration:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = at
		}
	case *apiregistrationv1.APIService:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = at
		}
	}
	encoder := stored().text
	if bytes.HasPrefix(p.Value, binaryMagic) {
		encoder = stored().binary
	}
	value, err := runtime.Encode(encoder, object)
	if err != nil {
		return Pair{}, fmt.Errorf("encode %s: %w", p.Key, err)
	}
	return Pair{p.Key, value}, nil
}
