import { listPaymentMethods, type PaymentMethod } from '@berth/contract/payment-methods'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryOf } from '../../../api/queries.ts'

/** What a customer chose to pay with. */
export interface PayChoice {
  /** A saved method's id; null is a new card; left out, nothing is chosen yet. */
  methodId?: string | null
  /** Whether a new card is kept once it was paid. */
  saves: boolean
}

export interface PayWithState {
  /** Whether it is known what is kept, or that it cannot be known now. */
  isKnown: boolean
  choice: PayChoice
  choose: (choice: PayChoice) => void
  /** What can be chosen: the default first. */
  methods: readonly PaymentMethod[]
  /** What is charged; null for a new card. */
  method: PaymentMethod | null
}

/**
 * What a form pays with: the default until another is chosen, a new card where nothing is kept that could be charged.
 * @param before What was chosen the last time that the form was there.
 */
export function usePayWith(before: PayChoice = { saves: false }): PayWithState {
  const [choice, choose] = useState(before)
  const { data, isPending } = useQuery(queryOf(listPaymentMethods, {}))
  const methods = (data ?? []).filter(({ status }) => status === 'saved')
  const usable = methods.filter(({ expired }) => !expired)
  const chosen = usable.find(({ id }) => id === choice.methodId)
  const method = choice.methodId === null ? null : (chosen ?? usable[0] ?? null)
  return { isKnown: !isPending, choice, choose, methods, method }
}
