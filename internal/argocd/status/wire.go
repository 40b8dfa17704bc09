package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wireStatus is a status as it is written; only the times differ from Status.
type wireStatus struct {
	Sync           SyncStatus          `json:"sync"`
	Health         wireHealth          `json:"health"`
	Resources      []wireResource      `json:"resources"`
	Conditions     []wireCondition     `json:"conditions"`
	ReconciledAt   *metav1.Time        `json:"reconciledAt"`
	OperationState *wireOperationState `json:"operationState"`
}

type wireHealth struct {
	Status             string       `json:"status"`
	Message            string       `json:"message"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime"`
}

type wireResource struct {
	Group                        string     `json:"group"`
	Version                      string     `json:"version"`
	Kind                         string     `json:"kind"`
	Namespace                    string     `json:"namespace"`
	Name                         string     `json:"name"`
	Status                       string     `json:"status"`
	Health                       wireHealth `json:"health"`
	Hook                         bool       `json:"hook"`
	RequiresPruning              bool       `json:"requiresPruning"`
	RequiresDeletionConfirmation bool       `json:"requiresDeletionConfirmation"`
}

type wireCondition struct {
	Type               string       `json:"type"`
	Message            string       `json:"message"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime"`
}

type wireOperationState struct {
	Operation  Operation    `json:"operation"`
	Phase      string       `json:"phase"`
	Message    string       `json:"message"`
	SyncResult *SyncResult  `json:"syncResult"`
	StartedAt  *metav1.Time `json:"startedAt"`
	FinishedAt *metav1.Time `json:"finishedAt"`
	RetryCount int64        `json:"retryCount"`
}

func moment(t *metav1.Time) time.Time {
	if t == nil || t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

func (h wireHealth) health() Health {
	return Health{Status: h.Status, Message: h.Message, LastTransitionTime: moment(h.LastTransitionTime)}
}

func (w wireStatus) status() Status {
	s := Status{Sync: w.Sync, Health: w.Health.health(), ReconciledAt: moment(w.ReconciledAt)}
	for _, r := range w.Resources {
		s.Resources = append(s.Resources, Resource{
			Group: r.Group, Version: r.Version, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Status: r.Status,
			Health: r.Health.health(), Hook: r.Hook, RequiresPruning: r.RequiresPruning,
			RequiresDeletionConfirmation: r.RequiresDeletionConfirmation,
		})
	}
	for _, c := range w.Conditions {
		s.Conditions = append(s.Conditions, Condition{Type: c.Type, Message: c.Message, LastTransitionTime: moment(c.LastTransitionTime)})
	}
	if o := w.OperationState; o != nil {
		s.OperationState = &OperationState{
			Operation: o.Operation, Phase: o.Phase, Message: o.Message, SyncResult: o.SyncResult,
			StartedAt: moment(o.StartedAt), FinishedAt: moment(o.FinishedAt), RetryCount: o.RetryCount,
		}
	}
	return s
}
