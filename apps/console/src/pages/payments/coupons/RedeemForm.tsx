import { applyCoupon, type CreditLot, couponBody } from '@berth/contract/credits'
import { COUPON_CODE_CHARS_MAX } from '@berth/contract/limits'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../../api/use-change.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { useFormat } from '../../../ui/format.ts'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import classes from './CreditsCard.module.css'

/** Where the code of a coupon is typed; a refused one stays there. */
export function RedeemForm() {
  const { t } = useTranslation('coupons')
  const format = useFormat()
  const told = (lot: CreditLot) =>
    toast.good(t('redeemed', { amount: format.money(lot.amount_micro, lot.currency) }))
  const redeem = useChange(applyCoupon, { silent: true, whenGone: told })
  const { form, submit, busy, failure } = useContractForm({
    schema: couponBody,
    initialValues: { code: '' },
    async onSubmit(body) {
      const lot = await redeem.send({ body })
      form.reset()
      told(lot)
    },
  })
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <div className={classes.line}>
        <TextInput
          className={classes.field}
          aria-label={t('code')}
          placeholder={t('code')}
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          // One more than allowed, so that the rule can say that it is too long.
          maxLength={COUPON_CODE_CHARS_MAX + 1}
          {...form.getInputProps('code')}
        />
        <VerifiedButton call={applyCoupon} type="submit" variant="default" loading={busy}>
          {t('redeem')}
        </VerifiedButton>
      </div>
      <FormFailure message={failure} />
    </form>
  )
}
