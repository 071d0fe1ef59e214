import type { Instance } from '@berth/contract/instances'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { type Column, RowTable, TwoLines } from '../../ui/RowTable.tsx'
import { INSTANCE_STATUS_LOOKS, StatusBadge } from '../../ui/StatusBadge.tsx'
import classes from './InstanceTable.module.css'
import type { RowAction } from './instance-actions.ts'
import { useInstanceTexts } from './instance-texts.ts'
import { RowActions } from './RowActions.tsx'
import { SimulatedTag } from './SimulatedTag.tsx'

interface InstanceTableProps {
  instances: readonly Instance[]
  onAsk: (action: RowAction, instance: Instance) => void
}

/** The instances, a row each: what it is, how it does, what it costs, what can be done with it. */
export function InstanceTable({ instances, onAsk }: InstanceTableProps) {
  const { t } = useTranslation('instances')
  const columns = useColumns(onAsk)
  return (
    <RowTable
      label={t('label')}
      columns={columns}
      rows={instances}
      keyOf={({ instance_id }) => instance_id}
    />
  )
}

function useColumns(onAsk: InstanceTableProps['onAsk']): readonly Column<Instance>[] {
  const { t } = useTranslation(['instances', 'common'])
  const texts = useInstanceTexts()
  return useMemo(
    () => [
      {
        key: 'instance',
        header: t('columns.instance'),
        cell: ({ name, instance_id }) => (
          <TwoLines strong mono first={<span className={classes.name}>{name}</span>} second={instance_id} />
        ),
      },
      {
        key: 'status',
        header: t('columns.status'),
        cell: instance => (
          <span className={classes.status}>
            <StatusBadge
              look={INSTANCE_STATUS_LOOKS[instance.status]}
              label={t(`common:status.${instance.status}`)}
              reason={texts.underStatus(instance)}
            />
          </span>
        ),
      },
      {
        key: 'gpu',
        header: t('columns.gpu'),
        cell: instance => (
          <TwoLines
            first={
              <>
                {texts.machine(instance)}
                {instance.simulated && <SimulatedTag />}
              </>
            }
            second={texts.underMachine(instance)}
          />
        ),
      },
      {
        key: 'image',
        header: t('columns.image'),
        cell: ({ image_name, region_name }) => <TwoLines first={image_name} second={region_name} />,
      },
      {
        key: 'cost',
        header: t('columns.cost'),
        align: 'end',
        cell: instance => <TwoLines {...texts.cost(instance)} />,
      },
      {
        key: 'actions',
        header: '',
        said: t('columns.actions'),
        align: 'end',
        width: '1%',
        cell: instance => <RowActions instance={instance} onAsk={onAsk} />,
      },
    ],
    [t, texts, onAsk],
  )
}
