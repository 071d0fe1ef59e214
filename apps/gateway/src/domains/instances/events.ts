import { CURRENCIES } from '@berth/contract/limits'
import * as z from 'zod'
import { defineEvent } from '../../platform/events/define-event.ts'

/** Instances do not run though their customer wanted them to: they failed, ended by themselves, or were stopped; or were started anew elsewhere. */
export const instancesInTrouble = defineEvent(
  'instances.in-trouble',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    cause: z.enum([
      'error',
      'exited',
      'balance_used_up',
      'spend_limit_reached',
      'budget_reached',
      'stopped_by_operator',
      'moved_by_operator',
    ]),
    instances: z.array(z.object({ id: z.string(), name: z.string() })).min(1),
  }),
)

/**
 * What becomes of an instance that is paid for in advance: days before its end what will (`will_…`, as it looks then),
 * and at its end what did. `unpaid`: it could not be renewed, goes on demand and is stopped.
 */
const TERM_OUTCOMES = ['will_renew', 'will_stop', 'will_release', 'renewed', 'unpaid', 'released'] as const
export type TermOutcome = (typeof TERM_OUTCOMES)[number]

/** A pod that stays stopped, or a stopped virtual machine that nobody pays for, is to be deleted, or was (R9.6, B4): once for each announcement, and once at the end. */
export const deletionNews = defineEvent(
  'instance.deletion',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    outcome: z.enum(['will_delete', 'deleted', 'will_delete_unpaid', 'deleted_unpaid']),
    instance: z.object({ id: z.string(), name: z.string() }),
    stoppedAt: z.iso.datetime(),
    /** When it is deleted unless it is started, or when it was. */
    keptUntil: z.iso.datetime(),
  }),
)

/** Nothing is left to pay for an instance's address, or it was given back for that (B4): once for each announcement. */
export const addressNews = defineEvent(
  'instance.address',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    news: z.enum(['unpaid', 'unpaid_soon', 'given_back_unpaid']),
    address: z.string(),
    addressId: z.string(),
    instance: z.object({ id: z.string(), name: z.string() }),
    /** When it is given back unless money comes, or when it was. */
    until: z.iso.datetime(),
  }),
)

/** An instance that stopped for an empty balance was started by itself, or could not be (B4): not once for each try. */
export const resumeNews = defineEvent(
  'instance.resume',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    news: z.enum(['started', 'failed', 'given_up']),
    instance: z.object({ id: z.string(), name: z.string() }),
    /** As an error says it; null where it was started. */
    failure: z
      .object({ code: z.string(), values: z.record(z.string(), z.union([z.string(), z.number()])) })
      .nullable(),
    /** When it is tried again; null where it is not. */
    nextTryAt: z.iso.datetime().nullable(),
  }),
)

/** A term is about to end, or has ended: once for each of those moments. */
export const termNews = defineEvent(
  'instance.term',
  z.object({
    userId: z.uuid(),
    at: z.iso.datetime(),
    outcome: z.enum(TERM_OUTCOMES),
    instance: z.object({ id: z.string(), name: z.string() }),
    /** The end of the term that it is about; of a renewal, of the new one. */
    expiryTime: z.iso.datetime(),
    /** What a term costs, in micro-units; null where none is offered. */
    priceMicro: z.string().nullable(),
    currency: z.enum(CURRENCIES),
  }),
)
