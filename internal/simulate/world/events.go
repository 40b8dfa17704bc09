package world

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event sends an event about an object. Events tell people; one that cannot be
// written is only logged.
func (w *World) Event(ctx context.Context, source string, obj metav1.Object, kind, apiVersion, eventType, reason, message string) {
	ns := obj.GetNamespace()
	if ns == "" {
		ns = metav1.NamespaceDefault
	}
	now := metav1.Now()
	h := fnv.New64a()
	fmt.Fprint(h, obj.GetUID(), reason, message, now.UnixNano())
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("%s.%x", obj.GetName(), h.Sum64())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: apiVersion, Kind: kind[strings.LastIndex(kind, "/")+1:], Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
		},
		Type: eventType, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: source}, ReportingController: source, ReportingInstance: "ladder",
	}
	if _, err := w.Client.CoreV1().Events(ns).Create(ctx, event, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
		w.Log.Debug("simulated world: cannot send an event", "object", obj.GetName(), "reason", reason, "error", err)
	}
}

// SplitKey splits "namespace/name"; the namespace of a cluster-wide object is
// empty.
func SplitKey(key string) (namespace, name string) {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		return "", namespace
	}
	return namespace, name
}
