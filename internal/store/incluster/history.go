package incluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// History is kept of this many rollouts, and of as many bytes of each at most:
// a ConfigMap holds 1 MiB.
const (
	historyKept = 20
	historyMost = 900 << 10
)

const keyReport = "report.json.gz"

// SaveHistory keeps the JSON report of a rollout that ended, where package
// history reads it, and drops the oldest ones beyond those that are kept. Too
// large a report is an error.
func (s *Store) SaveHistory(ctx context.Context, ended time.Time, report []byte) error {
	c, key := s.cluster, s.key
	packed, err := pack(report)
	if err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	if len(packed) > historyMost {
		return fmt.Errorf("keep the report: it has %d bytes, and a ConfigMap holds %d", len(packed), historyMost)
	}
	immutable := true
	entry := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			// The names sort by time.
			Name:   fmt.Sprintf("ladder-history-%s-%s", key.Name(), ended.UTC().Format("20060102t150405.000")),
			Labels: key.labels(partHistory),
		},
		Immutable:  &immutable,
		BinaryData: map[string][]byte{keyReport: packed},
	}
	err = persist(ctx, func(ctx context.Context) error {
		_, err := c.maps.Create(ctx, entry, metav1.CreateOptions{})
		return err
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("keep the report: %w", err)
	}
	var list *corev1.ConfigMapList
	err = one(ctx, func(ctx context.Context) (err error) {
		list, err = c.maps.List(ctx, metav1.ListOptions{LabelSelector: labelPart + "=" + partHistory + "," + labelRollout + "=" + key.Name()})
		return err
	})
	if err != nil {
		return fmt.Errorf("drop old reports: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.ConfigMap) int { return strings.Compare(b.Name, a.Name) })
	for _, old := range list.Items[min(historyKept, len(list.Items)):] {
		// One that stays is dropped after the next rollout.
		_ = one(ctx, func(ctx context.Context) error { return c.maps.Delete(ctx, old.Name, metav1.DeleteOptions{}) })
	}
	return nil
}
