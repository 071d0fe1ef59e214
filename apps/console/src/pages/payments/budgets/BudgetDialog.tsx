import { listApiKeys } from '@berth/contract/api-keys'
import {
  addBudget,
  addBudgetBody,
  BUDGET_PERIODS,
  type Budget,
  type BudgetPeriod,
  editBudget,
} from '@berth/contract/budgets'
import { listInstances } from '@berth/contract/instances'
import { Checkbox, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { balanceQuery, queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../../lists/FormDialog.tsx'
import { apiKeyState } from '../../../models/api-key-state.ts'
import { exactAmountText } from '../../../ui/amount-text.ts'
import { SegmentedFilter } from '../../../ui/SegmentedFilter.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import classes from './BudgetsCard.module.css'

interface BudgetDialogProps {
  /** What is edited; null sets a new one. */
  budget: Budget | null
  opened: boolean
  onClose: () => void
}

/** Sets a budget of the account, an instance or an API key, or changes one (B16). */
export function BudgetDialog({ budget, opened, onClose }: BudgetDialogProps) {
  const { t } = useTranslation('budgets')
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={
        budget
          ? t('form.edit_title', { name: budget.key_name ?? budget.instance_name ?? t('account') })
          : t('form.add_title')
      }
    >
      <BudgetForm budget={budget} onClose={onClose} />
    </FormDialog>
  )
}

function BudgetForm({ budget, onClose }: Omit<BudgetDialogProps, 'opened'>) {
  const { t } = useTranslation(['budgets', 'common'])
  const add = useChange(addBudget, { silent: true })
  const edit = useChange(editBudget, { silent: true })
  const balance = useQuery({ ...balanceQuery, enabled: budget === null })
  const currency = budget?.currency ?? balance.data?.currency ?? 'USD'
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: {
      scope: budget ? scopeOf(budget) : ACCOUNT,
      period: budget?.period ?? ('month' as BudgetPeriod),
      amount: budget ? (budget.amount / 100).toFixed(2) : '',
      stops: budget?.stops ?? false,
    },
    onSubmit: async ({ scope, ...body }) => {
      if (budget) await edit.send({ params: { id: budget.id }, body })
      else await add.send({ body: { ...body, ...scope } })
      toast.good(t(budget ? 'form.saved' : 'form.done'))
      onClose()
    },
  })
  const isKey = form.values.scope.startsWith(KEY)
  return (
    <DialogForm
      call={budget ? editBudget : addBudget}
      state={state}
      submitLabel={t(budget ? 'form.save' : 'form.submit')}
      onCancel={onClose}
    >
      {!budget && <ScopeField field={form.getInputProps('scope')} />}
      <div className={classes.field}>
        <span className={classes.label} aria-hidden="true">
          {t('form.period')}
        </span>
        <SegmentedFilter
          fill
          label={t('form.period')}
          value={form.values.period}
          onChange={period => form.setFieldValue('period', period)}
          options={BUDGET_PERIODS.map(value => ({ value, label: t(`form.periods.${value}`) }))}
        />
      </div>
      <TextInput
        label={t('form.amount', { currency })}
        description={t(isKey ? 'form.amount_note_key' : 'form.amount_note')}
        inputMode="decimal"
        autoComplete="off"
        classNames={{ input: 'tabular' }}
        data-autofocus
        {...form.getInputProps('amount')}
      />
      <Checkbox
        label={t('form.stops')}
        description={t(isKey ? 'form.stops_note_key' : 'form.stops_note')}
        {...form.getInputProps('stops', { type: 'checkbox' })}
        aria-invalid={form.errors.stops !== undefined}
      />
    </DialogForm>
  )
}

/** What it is for; the account until the instances are known. */
function ScopeField({ field }: { field: object }) {
  const { t } = useTranslation('budgets')
  const instances = (useQuery(queryOf(listInstances, {})).data ?? []).map(({ instance_id, name }) => ({
    value: INSTANCE + instance_id,
    label: name,
  }))
  // Keys that are over or revoked have no budget any more.
  const keys = (useQuery(queryOf(listApiKeys, {})).data ?? [])
    .filter(key => apiKeyState(key, new Date()) === 'active')
    .map(({ id, name, prefix }) => ({ value: KEY + id, label: `${name} (${prefix}…)` }))
  return (
    <Select
      label={t('form.scope')}
      allowDeselect={false}
      data={[
        { value: ACCOUNT, label: t('form.whole_account') },
        ...groupOf(t('form.instances'), instances),
        ...groupOf(t('form.keys'), keys),
      ]}
      {...field}
    />
  )
}

const groupOf = (group: string, items: { value: string; label: string }[]) =>
  items.length === 0 ? [] : [{ group, items }]

/** How the field says what a budget is for. */
const ACCOUNT = 'account'
const INSTANCE = 'instance:'
const KEY = 'key:'

function scopeOf({ instance_id, key_id }: Budget): string {
  if (key_id !== null) return KEY + key_id
  return instance_id === null ? ACCOUNT : INSTANCE + instance_id
}

const { period, amount, stops } = addBudgetBody.shape
const formSchema = z.object({
  scope: z.string().transform(text => ({
    instance_id: text.startsWith(INSTANCE) ? text.slice(INSTANCE.length) : null,
    key_id: text.startsWith(KEY) ? text.slice(KEY.length) : null,
  })),
  period,
  amount: exactAmountText.pipe(amount),
  stops,
})
