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
    <div className={classes.table}>
      <RowTable
        label={t('label')}
        columns={columns}
        rows={instances}
        keyOf={({ instance_id }) => instance_id}
      />
    </div>
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
          <TwoLines
            strong
            mono
            first={<span className={classes.name}>{name}</span>}
            second={<span className={classes.whole}>{instance_id}</span>}
          />
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
              <span className={classes.whole}>
                {texts.machine(instance)}
                {instance.simulated && <SimulatedTag />}
              </span>
            }
            second={<span className={classes.whole}>{texts.underMachine(instance)}</span>}
          />
        ),
      },
      {
        key: 'image',
        header: t('columns.image'),
        wideOnly: true,
        cell: ({ image_name, region_name }) => <TwoLines first={image_name} second={region_name} />,
      },
      {
        key: 'cost',
        header: t('columns.cost'),
        align: 'end',
        cell: instance => {
          const { first, second } = texts.cost(instance)
          return <TwoLines first={first} second={<span className={classes.whole}>{second}</span>} />
        },
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
