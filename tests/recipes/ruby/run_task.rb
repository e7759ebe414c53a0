# Runs the task as maintenance_tasks does: its blocks are asked before each element of the collection, and
# where one says true, the rest comes after the backoff.

class Integer
  def second = self
end

module MaintenanceTasks
  class Task
    def self.throttle_on(backoff:, &condition)
      (@throttles ||= []) << [condition, backoff]
    end

    def self.run
      task = new
      task.collection.each do |element|
        while (_, backoff = @throttles.find { |condition, _| condition.call })
          sleep backoff
        end
        task.process(element)
      end
    end
  end
end

# What the task uses of ActiveRecord, by psql.
Order = Struct.new(:condition) do
  def self.where(total:)
    raise "only what is not there yet" unless total.nil?

    new("total IS NULL")
  end

  def in_batches(of:)
    ids = sql("SELECT id FROM orders WHERE #{condition} ORDER BY id").split.each_slice(of)
    ids.map { |batch| Order.new("id BETWEEN #{batch.first} AND #{batch.last}") }
  end

  def update_all(assignment)
    Integer(sql("WITH done AS (UPDATE orders SET #{assignment} WHERE #{condition} RETURNING 1) SELECT count(*) FROM done"))
  end

  private

  def sql(statement)
    IO.popen(["psql", "--quiet", "--tuples-only", "--no-align", "--command", statement], &:read)
  end
end

require_relative "fill_total_task"

Maintenance::FillTotalTask.run
