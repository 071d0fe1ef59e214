import type { Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import { ModelsOfKinds } from '../../models/ModelsOfKinds.tsx'
import { VideoRoom } from './VideoRoom.tsx'

export { prefetchModels as prefetch } from '../../models/ModelsOfKinds.tsx'

const KINDS = ['video'] as const

/** Videos made by hosted models: settings, price, the one under way, and those that were made (R2.4, R2.30). */
export function Page() {
  const { t } = useTranslation('making')
  return (
    <ModelsOfKinds
      kinds={KINDS}
      title={t('title.video')}
      none={{ title: t('none.video'), hint: t('none.hint') }}
    >
      {models => <VideoRoom models={models as readonly [Model, ...Model[]]} />}
    </ModelsOfKinds>
  )
}
