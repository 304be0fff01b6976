// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"

	"georep/core/control"
	"georep/core/converge"
	"georep/core/pb"
)

// exchange does what the broker's exchange asks for.
func (s *site) exchange(a *pb.ExchangeAction) {
	switch act := a.GetAction().(type) {
	case *pb.ExchangeAction_Call:
		s.call(act.Call)
	case *pb.ExchangeAction_Respond:
		answered := s.w.pending[act.Respond.GetCall()]
		delete(s.w.pending, act.Respond.GetCall())
		answered(act.Respond.GetResponse())
	case *pb.ExchangeAction_Deliver:
		s.deliver(act.Deliver.GetEvent())
	}
}

// call takes a call there, and its response back.
func (s *site) call(c *pb.ExchangeCall) {
	w := s.w
	w.said.Calls++
	w.said.States += len(c.GetRequest().GetStates())
	w.carried("ExchangeRequest", c.GetRequest())
	w.calls++
	n := w.calls
	w.pending[n] = func(r *pb.ExchangeResponse) {
		w.carried("ExchangeResponse", r)
		for _, a := range r.GetAnswers() {
			if a.GetState() != nil {
				w.said.States++
			}
		}
		w.agenda.Add(w.now+wayMillis, func() {
			s.step(&pb.ExchangeEvent{Event: &pb.ExchangeEvent_Returned{Returned: &pb.ExchangeReturn{Call: c.GetCall(),
				Response: r}}})
			s.run()
		})
	}
	w.agenda.Add(w.now+wayMillis, func() {
		to := w.find(c.GetCluster())
		to.step(&pb.ExchangeEvent{Event: &pb.ExchangeEvent_Received{Received: &pb.ExchangeReceipt{Call: n, Caller: s.name,
			Request: c.GetRequest()}}})
		to.run()
	})
}

// deliver hands to the topic's machine what came for it.
func (s *site) deliver(e *pb.ConvergeEvent) {
	w := s.w
	switch ev := e.GetEvent().(type) {
	case *pb.ConvergeEvent_Received:
		state, err := control.ToTopicState(ev.Received.GetState())
		if err != nil {
			w.fail(err)
			return
		}
		s.m.Received(w.now, ev.Received.GetToken(), state)
	case *pb.ConvergeEvent_Answered:
		a := ev.Answered.GetAnswer()
		var state *converge.State
		if a.GetState() != nil {
			var err error
			if state, err = control.ToTopicState(a.GetState()); err != nil {
				w.fail(err)
				return
			}
		}
		s.m.Answered(w.now, ev.Answered.GetCluster(), ev.Answered.GetToken(), converge.Code(a.GetCode()), a.GetText(), state)
	default:
		w.fail(fmt.Errorf("fleet: %s is told %v", s.name, e))
	}
}
