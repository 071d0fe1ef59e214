import { type PaymentMethod, removePaymentMethod, setPaymentMethod } from '@berth/contract/payment-methods'
import { Button } from '@mantine/core'
import { IconCreditCard, IconTrash } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../../../api/use-change.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import { useFormat } from '../../../ui/format.ts'
import { leave } from '../pay-platform.ts'
import classes from './MethodsCard.module.css'
import { expiryOf, useMethodName } from './method-text.ts'

/** One saved method; where it cannot be removed, the button says why before it is pressed (R5.9). */
export function MethodRow({ method, onRemove }: { method: PaymentMethod; onRemove: () => void }) {
  const { t } = useTranslation(['methods', 'errors'])
  const makeDefault = useChange(setPaymentMethod)
  const name = useMethodName()(method)
  const { id, kept_for: keptFor, is_default: isDefault, next_url: page, status, expired } = method
  return (
    <li className={classes.method}>
      <span className={classes.icon} aria-hidden="true">
        <IconCreditCard size={16} stroke={1.6} />
      </span>
      <span className={classes.words}>
        <span className={classes.name}>
          {name}
          {isDefault && <span className={classes.pill}>{t('default')}</span>}
        </span>
        <MethodState method={method} />
      </span>
      <span className={classes.buttons}>
        {page !== null && (
          <Button
            size="xs"
            variant="default"
            aria-label={t('go_on_of', { name })}
            // In this tab, to which it leads back.
            onClick={() => leave(page)}
          >
            {t('go_on')}
          </Button>
        )}
        {!isDefault && status === 'saved' && !expired && (
          <Button
            size="xs"
            px={6}
            variant="subtle"
            color="gray"
            aria-label={t('make_default_of', { name })}
            loading={makeDefault.busy}
            onClick={() => void makeDefault.send({ params: { id }, body: { is_default: true } }).catch(told)}
          >
            {t('make_default')}
          </Button>
        )}
        <VerifiedButton
          call={removePaymentMethod}
          size="xs"
          px={6}
          variant="subtle"
          color="gray"
          aria-label={t('remove_of', { name })}
          reason={keptFor && t(`errors:${keptFor}`)}
          onClick={onRemove}
        >
          <IconTrash size={16} stroke={1.6} aria-hidden="true" />
        </VerifiedButton>
      </span>
    </li>
  )
}

/** Until when it can be charged, whether the last charge of it was refused, or why it is not kept. */
function MethodState({ method }: { method: PaymentMethod }) {
  const { t } = useTranslation(['methods', 'errors'])
  const format = useFormat()
  const { expired, next_url: page, status, refused_at: refusedAt, refused_for: refusedFor } = method
  if (status === 'saving') {
    return <span className={classes.second}>{t(page === null ? 'saving' : 'waiting')}</span>
  }
  if (status === 'refused') {
    return (
      <span className={classes.second} data-warning>
        {t('not_kept')} {t(`errors:${(refusedFor ?? 'payment_failed') as 'card_declined'}`)}
      </span>
    )
  }
  const date = expiryOf(method)
  return (
    <>
      <span className={classes.second} data-warning={expired || undefined}>
        {t(expired ? 'expired' : 'expires', { date })}
      </span>
      {refusedAt !== null && (
        <span className={classes.second} data-warning>
          {t('refused', { date: format.moment(refusedAt) })}{' '}
          {refusedFor !== null && t(`errors:${refusedFor as 'card_declined'}`)}
        </span>
      )}
    </>
  )
}
