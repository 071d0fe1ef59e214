import { type CreationItem, retryCreation } from '@berth/contract/creations'
import { type ModelUse, modelMostMicro } from '@berth/contract/model-cost'
import type { Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../api/use-change.ts'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import { useFormat } from '../ui/format.ts'
import { toast } from '../ui/toast.ts'

interface RetryButtonProps {
  item: CreationItem
  model: Model
  currency: string
  /** What it makes, by which it is priced. */
  units: Partial<ModelUse>
  /** What is said once it has begun. */
  begun: string
}

/** Makes once more what was not made, with the price before (B11). */
export function RetryButton({ item, model, currency, units, begun }: RetryButtonProps) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const retry = useChange(retryCreation, { whenGone: () => toast.good(begun) })
  return (
    <VerifiedButton
      call={retryCreation}
      variant="default"
      size="xs"
      loading={retry.busy}
      onClick={() => void retry.send({ params: { id: item.id } }).catch(told)}
    >
      {t('tile.again', { price: format.exactMoney(modelMostMicro(model, units), currency) })}
    </VerifiedButton>
  )
}
