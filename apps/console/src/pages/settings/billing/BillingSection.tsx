import {
  BILLING_ADDRESS_CHARS_MAX,
  BILLING_NAME_CHARS_MAX,
  BILLING_TAX_ID_CHARS_MAX,
  type BillingAddress,
  billingAddress,
  getBillingAddress,
  setBillingAddress,
} from '@berth/contract/invoices'
import { Button, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { SectionCard } from '../SectionCard.tsx'
import classes from './BillingSection.module.css'
import { ResumeDefault } from './ResumeDefault.tsx'

/** Whom invoices are made out to from now on (B23). */
export function BillingSection() {
  const { t } = useTranslation('invoices')
  const query = useQuery(queryOf(getBillingAddress, {}))
  return (
    <>
      <SectionCard title={t('billing.title')} lead={t('billing.lead')}>
        <Answer query={query} data={query.data} rows={3}>
          {kept => <BillingForm kept={kept} />}
        </Answer>
      </SectionCard>
      <ResumeDefault />
    </>
  )
}

/** @param props.kept What is kept when the form opens; what was typed is not replaced by a later look. */
export function BillingForm({ kept }: { kept: BillingAddress }) {
  const { t } = useTranslation('invoices')
  const change = useChange(setBillingAddress, { silent: true })
  const { form, submit, busy, failure } = useContractForm({
    schema: billingAddress,
    initialValues: kept,
    async onSubmit(body) {
      await change.send({ body })
      form.setValues(body)
      form.resetDirty(body)
      toast.good(t('billing.saved'))
    },
  })
  // One more than allowed everywhere, so that the rule can say that it is too long.
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <TextInput
        label={t('billing.name')}
        autoComplete="organization"
        maxLength={BILLING_NAME_CHARS_MAX + 1}
        {...form.getInputProps('name')}
      />
      <Textarea
        label={t('billing.address')}
        autoComplete="street-address"
        autosize
        minRows={3}
        maxRows={6}
        maxLength={BILLING_ADDRESS_CHARS_MAX + 1}
        {...form.getInputProps('address')}
      />
      <TextInput
        label={t('billing.tax_id')}
        autoComplete="off"
        maxLength={BILLING_TAX_ID_CHARS_MAX + 1}
        {...form.getInputProps('tax_id')}
      />
      <FormFailure message={failure} />
      <div>
        <Button type="submit" loading={busy} disabled={!form.isDirty()}>
          {t('billing.save')}
        </Button>
      </div>
    </form>
  )
}
