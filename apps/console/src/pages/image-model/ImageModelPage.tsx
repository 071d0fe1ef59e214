import type { Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import { ModelsOfKinds } from '../../models/ModelsOfKinds.tsx'
import { ImageRoom } from './ImageRoom.tsx'

export { prefetchModels as prefetch } from '../../models/ModelsOfKinds.tsx'

const KINDS = ['image'] as const

/** Pictures made by hosted models: settings, price, and what was made (R2.3, B11). */
export function Page() {
  const { t } = useTranslation('making')
  return (
    <ModelsOfKinds
      kinds={KINDS}
      title={t('title.image')}
      none={{ title: t('none.image'), hint: t('none.hint') }}
    >
      {models => <ImageRoom models={models as readonly [Model, ...Model[]]} />}
    </ModelsOfKinds>
  )
}
