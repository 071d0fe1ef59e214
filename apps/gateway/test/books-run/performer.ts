import type { Call, CallData, CallInput } from '@berth/contract/call'
import type { Caller, Customer, Outcome } from './caller.ts'
import type { Operator } from './operator.ts'
import type { Act } from './plan.ts'

/** What coupons there are: how much, for how many in all, and for each. */
export const COUPONS = [
  { code: 'PROOF-FEW', cents: 500, totalMax: 7, perCustomerMax: 1 },
  { code: 'PROOF-ALL', cents: 300, totalMax: null, perCustomerMax: 1 },
  { code: 'PROOF-TWICE', cents: 150, totalMax: 60, perCustomerMax: 2 },
] as const

/** Whoever carries one act out, and by what. */
export interface Performer {
  customer: Customer
  operator: Operator
  dice: Act['dice']
  /** A uuid of this act alone: the same for each run of its seed. */
  id: string
  /** Makes a call of the customer's until its answer stands; each call of one act has a key of its own. */
  ask<C extends Call>(call: C, input: CallInput<C>): Promise<Outcome<CallData<C>>>
  sendForm: Caller['sendForm']
  /** Loses a running machine behind everybody's back. @returns Whether there was one. */
  loseMachine(id: string): boolean
  /** Gets what must never be. */
  wrong: string[]
}

/** One of a list, by a number from 0 and below 1. */
export function pick<T>(list: readonly T[], dice: number): T | undefined {
  return list[Math.floor(dice * list.length)]
}
