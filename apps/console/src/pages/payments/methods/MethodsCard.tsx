import {
  addPaymentMethod,
  listPaymentMethods,
  type PaymentMethod,
  removePaymentMethod,
} from '@berth/contract/payment-methods'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import { useAsked } from '../../../lists/use-asked.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { Card } from '../../../ui/Card.tsx'
import { paymentsOfPage } from '../../../ui/payments-of-page.ts'
import { toast } from '../../../ui/toast.ts'
import { REFRESH_MS } from '../refresh.ts'
import { MethodRow } from './MethodRow.tsx'
import classes from './MethodsCard.module.css'
import { useMethodName } from './method-text.ts'
import { useReturned } from './use-returned.ts'

const AddMethodDialog = lazyPart(() => import('./AddMethodDialog.tsx').then(module => module.AddMethodDialog))
const ConfirmDialog = lazyPart(() =>
  import('../../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)

/** How often is looked again while a platform has not said yet that it has a card. */
const SAVING_POLL_MS = 5_000

interface MethodsCardProps {
  /** The card with which the browser comes back from its bank's page or the platform's; empty where it does not. */
  returned: string
  /** It was said what became of that card. */
  onSaid: () => void
}

/** What is kept to pay with (R3.7): added, made the default, removed. */
export function MethodsCard({ returned, onSaid }: MethodsCardProps) {
  const { t } = useTranslation(['methods', 'errors'])
  const query = useQuery({
    ...queryOf(listPaymentMethods, {}),
    // Whoever comes back from the bank's page wants to know at once.
    refetchOnWindowFocus: 'always',
    refetchInterval: ({ state }) =>
      state.data?.some(({ status }) => status === 'saving') ? SAVING_POLL_MS : REFRESH_MS,
  })
  useReturned(returned, query.data, onSaid)
  const remove = useChange(removePaymentMethod)
  const adding = useAsked<true>()
  const removing = useAsked<PaymentMethod>()
  const name = useMethodName()
  return (
    <>
      <Card
        title={t('title')}
        aside={
          <div ref={removing.fallback}>
            <VerifiedButton
              call={addPaymentMethod}
              size="xs"
              variant="default"
              leftSection={<IconPlus size={14} />}
              reason={paymentsOfPage() === 'none' ? t('errors:payments_not_set_up') : null}
              onClick={() => adding.ask(true)}
            >
              {t('add.open')}
            </VerifiedButton>
          </div>
        }
      >
        <Answer query={query} data={query.data} rows={2}>
          {methods =>
            methods.length === 0 ? (
              <p className={classes.note}>{t('none')}</p>
            ) : (
              <ul className={classes.methods}>
                {methods.map(method => (
                  <MethodRow key={method.id} method={method} onRemove={() => removing.ask(method)} />
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
      <Suspense>
        {adding.what && <AddMethodDialog opened={adding.opened} onClose={adding.close} />}
        {removing.what && (
          <ConfirmDialog
            opened={removing.opened}
            title={t('remove.title', { name: name(removing.what) })}
            confirmLabel={t('remove.confirm')}
            danger
            onConfirm={async () => {
              await remove.send({ params: { id: removing.what?.id ?? '' } })
              toast.good(t('remove.done'))
            }}
            onClose={removing.close}
          >
            {t('remove.text')}
          </ConfirmDialog>
        )}
      </Suspense>
    </>
  )
}
