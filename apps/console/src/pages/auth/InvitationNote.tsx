import { getInvitation } from '@berth/contract/invitation'
import { useTranslation } from 'react-i18next'
import { useCall } from '../../api/use-call.ts'
import { readCurrency, readReferralCode } from '../../app/session/session-storage.ts'
import { useFormat } from '../../ui/format.ts'
import classes from './AuthPage.module.css'

/** What a friend's link brings whoever signs up by it, or that nobody has its code (R2.11); nothing without a link. */
export function InvitationNote() {
  const code = readReferralCode()
  return code === null ? null : <OfCode code={code} />
}

function OfCode({ code }: { code: string }) {
  const { t } = useTranslation('auth')
  const format = useFormat()
  const { data } = useCall(getInvitation, { query: { code } })
  const cents = (amount: number) => format.cents(amount, readCurrency())
  const words = () => {
    // Nobody's sign-up waits for it.
    if (!data) return t('invited')
    if (!data.known) return t('invited_unknown')
    return t('invited_sums', { first: cents(data.first_topup), reward: cents(data.friend_reward) })
  }
  return <p className={classes.invited}>{words()}</p>
}
