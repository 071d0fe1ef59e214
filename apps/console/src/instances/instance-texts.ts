import { CHANGING_STATUSES, type InstanceStatus } from '@berth/contract/instance-states'
import type { Instance } from '@berth/contract/instances'
import { STOPPED_POD_KEPT_DAYS, STOPPED_POD_NOTICE_DAYS } from '@berth/contract/limits'
import type { TFunction } from 'i18next'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { type Format, useFormat } from '../ui/format.ts'
import { isInTerm } from './in-term.ts'
import type { RowAction } from './instance-actions.ts'

type Texts = TFunction<['instances', 'common', 'events', 'terms-of-payment']>

/** No comma before `or`, as in the texts around it. */
const LIST_LOCALES: Readonly<Record<string, string>> = { en: 'en-GB' }

/** What shells say where there is no such program. */
const EXIT_NOT_FOUND = 127
/** A command that was started again and has run for so long is at work again. */
const RUNS_AGAIN_MS = 60_000

const GIGABYTE = 1_000_000_000
const MEGABYTE = 1_000_000

/** Words for an instance, in the interface's language. */
export interface InstanceTexts {
  /** Under the status: how far, why, or whose doing it is; and since when. */
  underStatus: (instance: Instance) => string
  /** `2× RTX 4090` */
  machine: (instance: Instance) => string
  /** `48 GB · 24 vCPU · 128 GB`, or that it is given back. */
  underMachine: (instance: Instance) => string
  /** The rate, for how long it has run where it does, and what that has cost. */
  cost: (instance: Instance) => CostText
  /** Why an action is off: `Only while the instance is running`. */
  onlyIn: (statuses: readonly InstanceStatus[]) => string
  /** For how long a pod is kept that stays stopped, and when it is told of (R9.6). */
  kept: () => string
  /** The name of an action; of what goes either way, the way that it goes for that instance. */
  action: (action: RowAction, instance?: Pick<Instance, 'auto_renew'>) => string
}

interface CostText {
  first: string
  up?: string
  second: string
}

/** The words of the list; they change with the language. */
export function useInstanceTexts(): InstanceTexts {
  const { t, i18n } = useTranslation(['instances', 'common', 'events', 'terms-of-payment'])
  const format = useFormat()
  return useMemo(() => instanceTextsOf(t, format, i18n.language), [t, i18n.language, format])
}

/**
 * The words of the list in one language.
 * @param t Reads the namespaces `instances`, `common`, `events` and `terms-of-payment`.
 * @param format The formats of the same language.
 * @param language Its tag.
 */
export function instanceTextsOf(t: Texts, format: Format, language: string): InstanceTexts {
  const locale = LIST_LOCALES[language] ?? language
  const list = new Intl.ListFormat(locale, { type: 'disjunction' })
  return {
    underStatus: instance => underStatus(instance, t, format),
    machine: instance => machineText(instance),
    underMachine: instance => underMachine(instance, t),
    cost: instance => costText(instance, t, format),
    onlyIn: statuses =>
      t('off.only_while', { states: list.format(statuses.map(status => t(`states.${status}`))) }),
    kept: () =>
      t('confirm.stop.kept', {
        days: STOPPED_POD_KEPT_DAYS,
        notices: new Intl.ListFormat(locale).format(STOPPED_POD_NOTICE_DAYS.map(String)),
      }),
    action: (action, instance) =>
      action === 'toggle_renewal' && instance?.auto_renew === false
        ? t('actions.renewal_on')
        : t(`actions.${action}`),
  }
}

/**
 * The machine in a few words.
 * @param instance Of any status.
 * @returns `2× RTX 4090`; one machine without a GPU goes by its spec's name alone.
 */
function machineText({ gpu, gpu_count, gpu_spec_name }: Instance): string {
  return gpu || gpu_count > 1 ? `${gpu_count}× ${gpu_spec_name}` : gpu_spec_name
}

/** Statuses in which nothing runs and nothing will by itself: its GPUs are somebody else's now. */
const RELEASED: readonly InstanceStatus[] = ['stopped', 'exited']

const BY_CUSTOMER: readonly InstanceStatus[] = ['stopped', 'stopping', 'restarting', 'deleting']

function underMachine(instance: Instance, t: Texts): string {
  if (RELEASED.includes(instance.status) && !isInTerm(instance)) return t('machine.released')
  const { gpu, gpu_count, vram_gb, vcpu, memory_gb } = instance
  // The spec's GPU memory is that of one GPU; CPUs and memory are the instance's own.
  return gpu
    ? t('machine.gpu', { vram: vram_gb * gpu_count, vcpu, gb: memory_gb })
    : t('machine.cpu', { vcpu, gb: memory_gb })
}

function underStatus(instance: Instance, t: Texts, format: Format): string {
  const { status, reason, deleted_on, stop_at } = instance
  if (CHANGING_STATUSES.includes(status)) {
    const progress = progressText(instance, t)
    if (progress !== null) return progress
  }
  if (deleted_on !== null) return deletionText(deleted_on, reason, t, format)
  const ended = commandText(instance, t, format)
  if (ended !== null) return ended
  const moment = format.moment(instance.status_since)
  if (status === 'running' && !reason && stop_at !== null) {
    return t('status.stops', { moment: format.moment(stop_at) })
  }
  if (reason) {
    const why = t(`events:reason.${reason.code}`, { defaultValue: reason.code })
    return t('status.why_since', { why, moment })
  }
  // Nothing but the customer's own call changes an instance without a reason.
  return t(BY_CUSTOMER.includes(status) ? 'status.by_you_since' : 'status.since', { moment })
}

/** What will become of one that stays stopped, and why it is stopped where that was not its customer's call. */
function deletionText(deletedOn: string, reason: Instance['reason'], t: Texts, format: Format): string {
  const date = format.date(deletedOn)
  if (!reason) return t('status.deleted_on', { date })
  const why = t(`events:reason.${reason.code}`, { defaultValue: reason.code })
  return t('status.why_deleted_on', { why, date })
}

/** How the start command of a running instance ended, as long as that is worth a line: one that runs again is not for ever. */
function commandText({ command_end: end }: Instance, t: Texts, format: Format): string | null {
  if (!end) return null
  const values = { code: end.exit_code, times: end.count, moment: format.moment(end.ended_at) }
  if (end.again_at !== null) {
    return Date.parse(end.again_at) + RUNS_AGAIN_MS > Date.now() ? t('status.command_again', values) : null
  }
  if (end.exit_code === EXIT_NOT_FOUND) return t('status.command_missing', values)
  return t(end.exit_code === 0 ? 'status.command_done' : 'status.command_ended', values)
}

function progressText({ status, progress }: Instance, t: Texts): string | null {
  if (progress === null || status === 'stopping' || status === 'deleting') return null
  const { step, percent, bytes_done, bytes_total } = progress
  if (step === 'pulling' && bytes_done !== null && bytes_total !== null && bytes_total > 0) {
    const [size, unit] = bytes_total >= GIGABYTE ? [GIGABYTE, 'GB'] : [MEGABYTE, 'MB']
    return t('status.bytes', {
      done: amount(bytes_done, size),
      total: amount(bytes_total, size),
      unit,
    })
  }
  return t('status.step', { step: t(`steps.${step}`), percent })
}

/** One decimal below a hundred: beyond that it only flickers. */
function amount(bytes: number, size: number): string {
  const value = bytes / size
  return value < 100 ? value.toFixed(1) : String(Math.round(value))
}

/** Of what is paid for in advance: what a term costs, and what becomes of it when that is over. */
function termText(instance: Instance, t: Texts, format: Format): CostText | null {
  const { charge_cycle, term_micro, expiry_time, auto_renew, currency } = instance
  if (charge_cycle === null || term_micro === null) return null
  const first = t(`terms-of-payment:per.${charge_cycle}`, { amount: format.money(term_micro, currency) })
  if (expiry_time === null) return { first, second: t('terms-of-payment:list.not_begun') }
  const date = format.date(expiry_time)
  return { first, second: t(`terms-of-payment:list.${auto_renew ? 'renews' : 'released'}`, { date }) }
}

function costText(instance: Instance, t: Texts, format: Format): CostText {
  const { status, currency, cost_micro, ready_at } = instance
  const term = status === 'deleting' ? null : termText(instance, t, format)
  if (term) return term
  const spent = format.money(cost_micro, currency)
  const limit = instance.spend_limit_cents
  // What it may cost is said beside what it has cost, wherever that is said.
  const total =
    limit === null ? spent : t('cost.of_limit', { total: spent, limit: format.cents(limit, currency) })
  const billed = BigInt(cost_micro) > 0n
  switch (status) {
    case 'running': {
      const first = format.rate(instance.running_micro_per_hour, currency, 'h')
      const second = t('cost.so_far', { total })
      if (ready_at === null) return { first, second }
      const up = format.duration((Date.now() - Date.parse(ready_at)) / 1_000)
      return { first, up: t('cost.up', { up }), second }
    }
    case 'stopped':
    case 'exited':
      return {
        first: format.rate(instance.stopped_micro_per_day, currency, 'day'),
        second: billed ? t('cost.so_far', { total }) : t('cost.never'),
      }
    case 'stopping':
    case 'deleting':
      return { first: total, second: billed ? t('cost.ending') : t('cost.never') }
    case 'error':
      return { first: total, second: billed ? t('cost.in_all') : t('cost.never') }
    case 'restarting':
      return {
        first: format.rate(instance.running_micro_per_hour, currency, 'h'),
        second: t('cost.so_far', { total }),
      }
    default:
      return {
        first: format.rate(instance.running_micro_per_hour, currency, 'h'),
        second: billed ? t('cost.not_now', { total }) : t('cost.not_yet'),
      }
  }
}
