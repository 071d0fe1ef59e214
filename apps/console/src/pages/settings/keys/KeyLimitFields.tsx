import { type ApiKey, editApiKeyBody } from '@berth/contract/api-keys'
import { BUDGET_PERIODS, type BudgetPeriod } from '@berth/contract/budgets'
import { ACCOUNT_TOKENS_PER_MINUTE_MAX, API_KEY_CALLS_PER_MINUTE_MAX } from '@berth/contract/limits'
import { listModels } from '@berth/contract/models'
import { Checkbox, MultiSelect, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { balanceQuery, queryOf } from '../../../api/queries.ts'
import { optionalAmountText } from '../../../ui/amount-text.ts'
import { useFormat } from '../../../ui/format.ts'
import { SegmentedFilter } from '../../../ui/SegmentedFilter.tsx'
import classes from './Keys.module.css'

/** Limits of a key, as its form holds them. */
export interface KeyLimitValues {
  /** Whether it may name every model: a list that was emptied by mistake must not come to mean that. */
  scope: 'all' | 'some'
  models: string[]
  /** Empty: no limit. */
  spend_amount: string
  spend_period: BudgetPeriod
  spend_stops: boolean
  /** Empty: as many as any key. */
  requests_per_minute: string
  /** Empty: as many as the account. */
  tokens_per_minute: string
}

/** What a form begins with. @param key What is edited; null for a new one. */
export function limitValues(key: ApiKey | null): KeyLimitValues {
  const spend = key?.spend_limit ?? null
  return {
    scope: key?.models ? 'some' : 'all',
    models: key?.models ?? [],
    spend_amount: spend === null ? '' : (spend.amount / 100).toFixed(2),
    spend_period: spend?.period ?? 'month',
    spend_stops: spend?.stops ?? true,
    requests_per_minute: key?.requests_per_minute?.toString() ?? '',
    tokens_per_minute: key?.tokens_per_minute?.toString() ?? '',
  }
}

const isBlank = (text: string) => text.trim() === ''
const { models, spend_limit, requests_per_minute, tokens_per_minute } = editApiKeyBody.shape
const numberText = z.string().transform(text => (isBlank(text) ? null : Number(text.trim())))

/** The fields of a form with limits; `limitsOf` makes of their values what is sent. */
export const limitFields = {
  scope: z.enum(['all', 'some']),
  models: z.array(z.string()),
  spend_amount: optionalAmountText.pipe(spend_limit.unwrap().shape.amount.nullable()),
  spend_period: z.enum(BUDGET_PERIODS),
  spend_stops: z.boolean(),
  requests_per_minute: numberText.pipe(requests_per_minute),
  tokens_per_minute: numberText.pipe(tokens_per_minute),
}

/** Whether a form that binds a key to some models names any. */
export const namesModels = ({ scope, models: named }: Pick<KeyLimitValues, 'scope' | 'models'>): boolean =>
  scope === 'all' || models.safeParse(named).success
/** What is said where it names none. */
export const NAMES_NONE = { path: ['models'] as PropertyKey[], error: 'required' as const }

/** What is sent of a form's limits. */
export function limitsOf(form: z.output<z.ZodObject<typeof limitFields>>) {
  const { scope, spend_amount: amount, spend_period: period, spend_stops: stops } = form
  return {
    models: scope === 'all' ? null : form.models,
    spend_limit: amount === null ? null : { amount, period, stops },
    requests_per_minute: form.requests_per_minute,
    tokens_per_minute: form.tokens_per_minute,
  }
}

/** What a key may call, what that may cost, and how often (B10). */
export function KeyLimitFields({ form }: { form: UseFormReturnType<KeyLimitValues & { name: string }> }) {
  const { t } = useTranslation('keys')
  const { number } = useFormat()
  const currency = useQuery(balanceQuery).data?.currency ?? 'USD'
  const all = useQuery(queryOf(listModels, {})).data ?? []
  // A key may name models that are gone from the catalogue.
  const known = new Map(form.values.models.map(id => [id, id]))
  for (const { id, name } of all) known.set(id, name)
  return (
    <>
      <Choice label={t('api.limits.models')}>
        <SegmentedFilter
          fill
          label={t('api.limits.models')}
          value={form.values.scope}
          onChange={scope => form.setFieldValue('scope', scope)}
          options={(['all', 'some'] as const).map(value => ({
            value,
            label: t(`api.limits.scopes.${value}`),
          }))}
        />
      </Choice>
      {form.values.scope === 'some' && (
        <MultiSelect
          label={t('api.limits.which')}
          placeholder={form.values.models.length === 0 ? t('api.limits.choose') : ''}
          data={[...known].map(([value, label]) => ({ value, label }))}
          searchable
          hidePickedOptions
          nothingFoundMessage={t('api.limits.no_model')}
          {...form.getInputProps('models')}
        />
      )}
      <TextInput
        label={t('api.limits.spend', { currency })}
        description={t('api.limits.spend_note')}
        inputMode="decimal"
        autoComplete="off"
        classNames={{ input: 'tabular' }}
        {...form.getInputProps('spend_amount')}
      />
      {!isBlank(form.values.spend_amount) && (
        <Choice label={t('api.limits.period')}>
          <SegmentedFilter
            fill
            label={t('api.limits.period')}
            value={form.values.spend_period}
            onChange={period => form.setFieldValue('spend_period', period)}
            options={BUDGET_PERIODS.map(value => ({ value, label: t(`api.limits.periods.${value}`) }))}
          />
        </Choice>
      )}
      {!isBlank(form.values.spend_amount) && (
        <Checkbox
          label={t('api.limits.stops')}
          description={t('api.limits.stops_note')}
          {...form.getInputProps('spend_stops', { type: 'checkbox' })}
        />
      )}
      <TextInput
        label={t('api.limits.requests')}
        description={t('api.limits.requests_note', {
          count: API_KEY_CALLS_PER_MINUTE_MAX,
          max: number(API_KEY_CALLS_PER_MINUTE_MAX),
        })}
        inputMode="numeric"
        autoComplete="off"
        classNames={{ input: 'tabular' }}
        {...form.getInputProps('requests_per_minute')}
      />
      <TextInput
        label={t('api.limits.tokens')}
        description={t('api.limits.tokens_note', { max: number(ACCOUNT_TOKENS_PER_MINUTE_MAX) })}
        inputMode="numeric"
        autoComplete="off"
        classNames={{ input: 'tabular' }}
        {...form.getInputProps('tokens_per_minute')}
      />
    </>
  )
}

function Choice({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div className={classes.choice}>
      <span className={classes.choiceLabel} aria-hidden="true">
        {label}
      </span>
      {children}
    </div>
  )
}
