import { type ComponentType, type LazyExoticComponent, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { lazyPart } from '../../app/lazy-part.ts'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { CardFields } from './CardFields.tsx'
import type { PayPlatform } from './pay-platform.ts'
import type { StripeCard as Frame } from './stripe/StripeCard.tsx'
import type { CardPlace } from './stripe/use-card-frame.ts'
import classes from './TopupDialog.module.css'

let framePart: LazyExoticComponent<ComponentType<Parameters<typeof Frame>[0]>> | null = null

/** Its code is asked for where a card is entered so, and not ahead of that by everybody. */
function frameOf() {
  framePart ??= lazyPart(() => import('./stripe/StripeCard.tsx').then(module => module.StripeCard))
  return framePart
}

interface NewCardProps {
  platform: PayPlatform
  place: CardPlace
  /** What is paid, in cents; null where the card is only kept. */
  cents: number | null
  currency: string
  saves: boolean
  /** Whether a new card is what is paid with; until then nothing of the platform's is loaded for it. */
  isChosen: boolean
  /** What `form.getInputProps` gives for the field of the number. */
  field: object
  onPick: (number: string) => void
}

/** Where a new card is entered: in a field of ours, in a frame of the platform's, or at its page. */
export function NewCard(props: NewCardProps) {
  const { platform, place, cents, currency, saves, isChosen, field, onPick } = props
  const { t } = useTranslation('payments')
  if (platform.entry === 'card') return <CardFields platform={platform} field={field} onPick={onPick} />
  const name = { platform: platform.display_name }
  const { frameKey, frame, hasFailed, onFailed } = place
  const StripeCard = frameKey === null || !isChosen ? null : frameOf()
  return (
    <>
      {StripeCard && frameKey !== null && (
        <Suspense fallback={<SkeletonRows rows={2} />}>
          <StripeCard
            publishableKey={frameKey}
            cents={cents}
            currency={currency}
            saves={saves}
            frame={frame}
            onFailed={onFailed}
          />
        </Suspense>
      )}
      <p className={classes.hosted}>
        {hasFailed && `${t('topup.frame.failed', name)} `}
        {t(frameKey === null ? 'topup.hosted' : 'topup.frame.note', name)}
        {platform.test && ` ${t('topup.hosted_test')}`}
      </p>
    </>
  )
}
