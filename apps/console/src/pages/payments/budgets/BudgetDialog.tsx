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

/** Sets a budget of the account or of an instance, or changes one (B16). */
export function BudgetDialog({ budget, opened, onClose }: BudgetDialogProps) {
  const { t } = useTranslation('budgets')
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={
        budget ? t('form.edit_title', { name: budget.instance_name ?? t('account') }) : t('form.add_title')
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
      instance_id: budget?.instance_id ?? ACCOUNT,
      period: budget?.period ?? ('month' as BudgetPeriod),
      amount: budget ? (budget.amount / 100).toFixed(2) : '',
      stops: budget?.stops ?? false,
    },
    onSubmit: async ({ instance_id, ...body }) => {
      if (budget) await edit.send({ params: { id: budget.id }, body })
      else await add.send({ body: { ...body, instance_id } })
      toast.good(t(budget ? 'form.saved' : 'form.done'))
      onClose()
    },
  })
  return (
    <DialogForm
      call={budget ? editBudget : addBudget}
      state={state}
      submitLabel={t(budget ? 'form.save' : 'form.submit')}
      onCancel={onClose}
    >
      {!budget && <ScopeField field={form.getInputProps('instance_id')} />}
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
        description={t('form.amount_note')}
        inputMode="decimal"
        autoComplete="off"
        classNames={{ input: 'tabular' }}
        data-autofocus
        {...form.getInputProps('amount')}
      />
      <Checkbox
        label={t('form.stops')}
        description={t('form.stops_note')}
        {...form.getInputProps('stops', { type: 'checkbox' })}
        aria-invalid={form.errors.stops !== undefined}
      />
    </DialogForm>
  )
}

/** What it is for; the account until the instances are known. */
function ScopeField({ field }: { field: object }) {
  const { t } = useTranslation('budgets')
  const { data } = useQuery(queryOf(listInstances, {}))
  const instances = (data ?? []).map(({ instance_id, name }) => ({ value: instance_id, label: name }))
  return (
    <Select
      label={t('form.scope')}
      allowDeselect={false}
      data={[{ value: ACCOUNT, label: t('form.whole_account') }, ...instances]}
      {...field}
    />
  )
}

/** What stands for the account among the instances, whose ids are never empty. */
const ACCOUNT = 'account'

const { period, amount, stops, instance_id } = addBudgetBody.shape
const formSchema = z.object({
  instance_id: z
    .string()
    .transform(text => (text === ACCOUNT ? null : text))
    .pipe(instance_id.unwrap()),
  period,
  amount: exactAmountText.pipe(amount),
  stops,
})
